// Loops, made smaller.
//
//   results that nothing reads      are not collected; a carried value that only feeds itself is not carried
//   carried values that never change and constants that are handed in    are captured; a captured constant becomes the
//                                                                         body's own, so that the passes see through it
//   the body                        is cleaned up like any graph
//   what is the same in every trip  is computed before the loop, where that saves work: products, reductions, inner loops,
//                                   and whatever makes no more bytes than it reads. A broadcast stays: as part of a
//                                   kernel it costs nothing, as a tensor it would be read in every trip.
//   a loop of one trip              is no loop
#include "compiler/graph/passes/passes.h"

#include "compiler/graph/loop.h"

#include <algorithm>
#include <unordered_map>

namespace lockstitch {
namespace {

using Kind = Primitive::Kind;

/// What became of the results of a loop: a value of the surrounding graph, or a result of another number.
struct Outcome {
  std::vector<ValueId> values;
  std::vector<uint32_t> numbers;
};

class LoopSimplifier {
public:
  explicit LoopSimplifier(PrimitiveGraph &graph) : graph(graph) {
    for (OriginId id = 0; id < graph.origins.size(); ++id)
      originOf[graph.origins[id].node] = id;
  }

  void run() {
    std::vector<Primitive> old = std::move(graph.primitives);
    graph.primitives.clear();
    std::unordered_map<ValueId, std::vector<bool>> used; // by token
    for (const Primitive &primitive : old) {
      if (primitive.kind == Kind::Loop)
        used[primitive.result].resize(primitive.loop->numResults(), false);
      if (primitive.kind == Kind::Project)
        used.at(primitive.operands[0])[primitive.projection] = true;
    }
    std::unordered_map<ValueId, Outcome> outcomes;
    for (Primitive &primitive : old) {
      for (ValueId &operand : primitive.operands)
        operand = replaced(operand);
      if (primitive.kind == Kind::Project) {
        const Outcome &outcome = outcomes.at(primitive.operands[0]);
        if (ValueId value = outcome.values[primitive.projection];
            value != kNone) {
          replacement[primitive.result] = value;
          continue;
        }
        primitive.projection = outcome.numbers[primitive.projection];
      }
      if (primitive.kind == Kind::Loop) {
        ValueId token = primitive.result;
        if (!simplify(primitive, used.at(token), outcomes[token]))
          continue;
      }
      append(std::move(primitive));
    }
    for (ValueId &output : graph.outputs)
      output = replaced(output);
  }

private:
  ValueId replaced(ValueId value) const {
    auto it = replacement.find(value);
    return it == replacement.end() ? value : it->second;
  }

  void append(Primitive primitive) {
    graph.values[primitive.result].producer =
        static_cast<PrimitiveId>(graph.primitives.size());
    graph.primitives.push_back(std::move(primitive));
  }

  /// False when nothing is left of the loop.
  bool simplify(Primitive &primitive, const std::vector<bool> &used,
                Outcome &outcome) {
    auto copy = std::make_shared<Loop>(*primitive.loop);
    Loop &loop = *copy;
    outcome.values.assign(loop.numResults(), kNone);
    outcome.numbers.assign(loop.numResults(), 0);
    shrink(primitive, loop, used, outcome);
    ownConstants(primitive, loop);
    cleanUpBody(loop.body);
    hoist(primitive, loop);
    dropUnreadCaptures(primitive, loop);
    eliminateDead(loop.body);
    if (primitive.origins.size() > 1)
      primitive.origins.resize(1); // the loop's own node
    for (const Primitive &inner : loop.body.primitives)
      addOrigins(primitive, loop.body, inner);
    bool isLoop = loop.trips.value() > 1;
    if (!isLoop)
      unwrap(primitive, loop, outcome);
    primitive.loop = std::move(copy);
    return isLoop;
  }

  void shrink(Primitive &primitive, Loop &loop, const std::vector<bool> &used,
              Outcome &outcome) {
    PrimitiveGraph &body = loop.body;
    std::vector<bool> wanted = used, isNeeded(body.values.size(), false);
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = 0; i < wanted.size(); ++i)
        if (wanted[i])
          isNeeded[body.outputs[i]] = true;
      for (size_t i = body.primitives.size(); i-- > 0;)
        if (isNeeded[body.primitives[i].result])
          for (ValueId operand : body.primitives[i].operands)
            isNeeded[operand] = true;
      for (uint32_t i = 0; i < loop.carried; ++i)
        if (!wanted[i] && isNeeded[body.inputs[i]])
          changed = wanted[i] = true;
    }

    std::vector<ValueId> operands[3], inputs[3],
        outputs[2]; // carried, sliced or collected, captured
    std::vector<bool> slices, collected;
    for (size_t i = 0; i < primitive.operands.size(); ++i) {
      bool isCarried = i < loop.carried;
      if (isCarried ? !wanted[i] : !isNeeded[body.inputs[i]])
        continue;
      bool isFixed = isCarried && body.outputs[i] == body.inputs[i];
      size_t kind = isFixed || loop.isCaptured(i) ? 2 : isCarried ? 0 : 1;
      if (isFixed)
        outcome.values[i] = primitive.operands[i];
      if (kind == 1)
        slices.push_back(loop.slices[i - loop.carried]);
      if (kind == 0) {
        outcome.numbers[i] = static_cast<uint32_t>(outputs[0].size());
        outputs[0].push_back(body.outputs[i]);
      }
      operands[kind].push_back(primitive.operands[i]);
      inputs[kind].push_back(body.inputs[i]);
    }
    for (size_t i = loop.carried; i < wanted.size(); ++i) {
      if (!wanted[i])
        continue;
      outcome.numbers[i] =
          static_cast<uint32_t>(outputs[0].size() + outputs[1].size());
      outputs[1].push_back(body.outputs[i]);
      collected.push_back(loop.collected[i - loop.carried]);
    }
    auto join = [](const auto &parts) {
      std::vector<ValueId> all;
      for (const auto &part : parts)
        all.insert(all.end(), part.begin(), part.end());
      return all;
    };
    loop.carried = static_cast<uint32_t>(inputs[0].size());
    primitive.operands = join(operands);
    body.inputs = join(inputs);
    body.outputs = join(outputs);
    body.outputNames.assign(body.outputs.size(), "");
    loop.slices = std::move(slices);
    loop.collected = std::move(collected);
  }

  /// Removes operand `i` of the captured ones.
  static void dropCapture(Primitive &primitive, Loop &loop, size_t i) {
    primitive.operands.erase(primitive.operands.begin() + i);
    loop.body.inputs.erase(loop.body.inputs.begin() + i);
  }

  void ownConstants(Primitive &primitive, Loop &loop) {
    for (size_t i = primitive.operands.size(); i-- > 0;) {
      const Value &value = graph.values[primitive.operands[i]];
      if (!loop.isCaptured(i) || value.kind != Value::Kind::Constant)
        continue;
      Value &own = loop.body.values[loop.body.inputs[i]];
      own.kind = Value::Kind::Constant;
      own.constant = value.constant;
      dropCapture(primitive, loop, i);
    }
  }

  void dropUnreadCaptures(Primitive &primitive, Loop &loop) {
    std::vector<bool> isRead(loop.body.values.size(), false);
    for (const Primitive &inner : loop.body.primitives)
      for (ValueId operand : inner.operands)
        isRead[operand] = true;
    for (ValueId output : loop.body.outputs)
      isRead[output] = true;
    for (size_t i = primitive.operands.size(); i-- > 0;)
      if (loop.isCaptured(i) && !isRead[loop.body.inputs[i]])
        dropCapture(primitive, loop, i);
  }

  void addOrigins(Primitive &primitive, const PrimitiveGraph &body,
                  const Primitive &inner) {
    for (OriginId id : inner.origins) {
      auto [known, isNew] =
          originOf.try_emplace(body.origins[id].node, graph.origins.size());
      if (isNew)
        graph.origins.push_back(body.origins[id]);
      if (std::find(primitive.origins.begin(), primitive.origins.end(),
                    known->second) == primitive.origins.end())
        primitive.origins.push_back(known->second);
    }
  }

  /// Which primitives of the body are computed before the loop.
  static std::vector<bool> invariants(const Loop &loop) {
    const PrimitiveGraph &body = loop.body;
    std::vector<bool> fixed(body.values.size(), false),
        constant = constantPrimitives(body),
        hoisted(body.primitives.size(), false);
    for (ValueId value = 0; value < body.values.size(); ++value)
      fixed[value] = body.values[value].kind == Value::Kind::Constant;
    for (size_t i = 0; i < body.inputs.size(); ++i)
      fixed[body.inputs[i]] = loop.isCaptured(i);
    for (PrimitiveId id = 0; id < body.primitives.size(); ++id) {
      const Primitive &inner = body.primitives[id];
      fixed[inner.result] =
          std::all_of(inner.operands.begin(), inner.operands.end(),
                      [&](ValueId operand) { return fixed[operand]; });
      if (!fixed[inner.result] || constant[id])
        continue;
      int64_t read = 0;
      for (ValueId operand : inner.operands)
        read += body.type(operand).bytes();
      if (inner.kind == Kind::Project)
        hoisted[id] = hoisted[body.values[inner.operands[0]].producer];
      else
        hoisted[id] = inner.kind != Kind::Pull ||
                      (!isReshape(body, inner) &&
                       body.type(inner.result).bytes() <= read);
    }
    for (PrimitiveId id = body.primitives.size(); id-- > 0;)
      if (hoisted[id])
        for (ValueId operand : body.primitives[id].operands)
          if (body.values[operand].kind == Value::Kind::Result)
            hoisted[body.values[operand].producer] = true;
    return hoisted;
  }

  /// Appends `inner` of `body` to this graph; `outside` says which of its values is which here, and learns the result.
  void moveOut(Primitive inner, const PrimitiveGraph &body,
               std::vector<ValueId> &outside) {
    for (ValueId &operand : inner.operands)
      operand = outsideOf(operand, body, outside);
    std::vector<OriginId> origins = std::move(inner.origins);
    inner.origins.clear();
    Primitive named;
    named.origins = origins;
    addOrigins(inner, body, named);
    ValueId old = inner.result;
    outside[old] =
        graph.add(std::move(inner), body.type(old), body.values[old].name);
  }

  ValueId outsideOf(ValueId value, const PrimitiveGraph &body,
                    std::vector<ValueId> &outside) {
    if (outside[value] == kNone &&
        body.values[value].kind == Value::Kind::Constant)
      outside[value] =
          graph.addConstant(body.values[value].name, body.type(value),
                            body.values[value].constant);
    return outside[value];
  }

  void hoist(Primitive &primitive, Loop &loop) {
    PrimitiveGraph &body = loop.body;
    std::vector<bool> hoisted = invariants(loop);
    std::vector<ValueId> outside(body.values.size(), kNone);
    for (size_t i = 0; i < body.inputs.size(); ++i)
      if (loop.isCaptured(i))
        outside[body.inputs[i]] = primitive.operands[i];
    std::vector<Primitive> kept;
    for (PrimitiveId id = 0; id < body.primitives.size(); ++id) {
      Primitive &inner = body.primitives[id];
      ValueId result = inner.result;
      if (!hoisted[id]) {
        body.values[result].producer = static_cast<PrimitiveId>(kept.size());
        kept.push_back(std::move(inner));
        continue;
      }
      moveOut(std::move(inner), body, outside);
      // Whoever still reads it captures it.
      body.values[result].kind = Value::Kind::Input;
      body.values[result].producer = kNone;
      body.inputs.push_back(result);
      primitive.operands.push_back(outside[result]);
    }
    body.primitives = std::move(kept);
  }

  ValueId reshape(ValueId value, const TensorType &to, std::string name,
                  std::vector<OriginId> origins) {
    Primitive view;
    view.name = std::move(name);
    view.origins = std::move(origins);
    view.operands = {value};
    view.domain = to.shape;
    ScalarBuilder builder(view.body);
    view.body.results = {builder.read(
        0, to.element, reshapeMap(graph.type(value).shape, to.shape))};
    return graph.add(std::move(view), to);
  }

  void unwrap(const Primitive &primitive, Loop &loop, Outcome &outcome) {
    PrimitiveGraph &body = loop.body;
    std::vector<ValueId> outside(body.values.size(), kNone);
    std::vector<OriginId> own = primitive.origins;
    if (own.size() > 1)
      own.resize(1);
    for (size_t i = 0; i < body.inputs.size(); ++i)
      outside[body.inputs[i]] =
          loop.isSliced(i)
              ? reshape(primitive.operands[i], body.type(body.inputs[i]),
                        primitive.name + ".slice" + std::to_string(i), own)
              : primitive.operands[i];
    for (Primitive &inner : body.primitives)
      moveOut(inner, body, outside);
    for (size_t i = 0; i < outcome.values.size(); ++i) {
      if (outcome.values[i] != kNone || outcome.numbers[i] >= loop.numResults())
        continue;
      uint32_t number = outcome.numbers[i];
      ValueId value = outsideOf(body.outputs[number], body, outside);
      outcome.values[i] =
          number < loop.carried
              ? value
              : reshape(value, loop.resultType(number),
                        primitive.name + ".result" + std::to_string(i), own);
    }
  }

  PrimitiveGraph &graph;
  std::unordered_map<std::string, OriginId> originOf;
  std::unordered_map<ValueId, ValueId> replacement;
};

} // namespace

void simplifyLoops(PrimitiveGraph &graph) { LoopSimplifier(graph).run(); }

} // namespace lockstitch
