// Evaluates in blocks of coordinates (evaluate_program.h).
//
// A reduction walks its domain in row-major order (the reduced dimensions are
// the inner ones). Values are folded in runs of 64, and runs are combined like
// the digits of a binary counter: the shape of the tree depends on the length
// only.
#include "compiler/graph/evaluate.h"

#include "compiler/graph/evaluate_library.h"
#include "compiler/graph/evaluate_loop.h"
#include "compiler/graph/evaluate_program.h"
#include "compiler/graph/evaluate_scatter.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

namespace lockstitch {
namespace {

using namespace evaluation;
constexpr int64_t kRun = 64;

Status evaluatePull(const Primitive &primitive, const TensorType &type,
                    std::span<const OperandView> operands,
                    std::vector<std::byte> &result) {
  ProgramRunner body(primitive.body, operands);
  Coordinates at;
  std::vector<int64_t> extents = extentsOf(primitive.domain);
  int64_t total = numElements(primitive.domain);
  size_t width = byteSize(type.element);
  for (int64_t first = 0; first < total; first += kBlock) {
    at.setLinear(extents, first, std::min(kBlock, total - first));
    if (!body.run(at))
      return outOfBounds(primitive);
    const Slot *values = body.result(0);
    for (size_t i = 0; i < at.count; ++i)
      evaluation::store(type.element, values[i],
                        result.data() + (first + i) * width);
  }
  return {};
}

Status evaluateReduce(const Primitive &primitive, const TensorType &type,
                      std::span<const OperandView> operands,
                      std::vector<std::byte> &result) {
  const Reducer &reducer = primitive.reducer;
  size_t numAccumulators = reducer.types.size(),
         numValues = primitive.body.results.size();
  Accumulators neutral = neutralOf(reducer);

  ProgramRunner body(primitive.body, operands);
  Folder update(reducer.update), combine(reducer.combine);
  std::vector<int64_t> extents = extentsOf(primitive.domain);
  int64_t total = numElements(primitive.domain), outputs = type.elements();
  int64_t length = outputs ? total / outputs : 0;

  // folded[i][o]: accumulator i of output o, before `finish`.
  std::vector<std::vector<Slot>> folded(numAccumulators,
                                        std::vector<Slot>(outputs));
  for (int64_t o = 0; o < outputs && length == 0; ++o)
    for (size_t i = 0; i < numAccumulators; ++i)
      folded[i][o] = neutral[i];

  std::vector<Accumulators>
      tree; // tree[l]: 2^l runs, where bit l of `runs` is set
  Accumulators current = neutral;
  int64_t runs = 0, step = 0, output = 0;
  auto endRun = [&] {
    size_t level = 0;
    for (; runs >> level & 1; ++level) {
      Accumulators left = tree[level];
      combine.fold(left, current);
      current = std::move(left);
    }
    if (tree.size() <= level)
      tree.resize(level + 1);
    tree[level] = std::move(current);
    current = neutral;
    ++runs;
  };
  auto endOutput = [&] {
    Accumulators sum;
    for (size_t level = 0; level < tree.size(); ++level) {
      if (!(runs >> level & 1))
        continue;
      Accumulators left = tree[level];
      if (!sum.empty())
        combine.fold(left, sum);
      sum = std::move(left);
    }
    for (size_t i = 0; i < numAccumulators; ++i)
      folded[i][output] = sum[i];
    ++output;
    runs = step = 0;
    tree.clear();
  };

  Coordinates at;
  std::vector<Slot> values(numValues);
  for (int64_t first = 0; first < total; first += kBlock) {
    at.setLinear(extents, first, std::min(kBlock, total - first));
    if (!body.run(at))
      return outOfBounds(primitive);
    for (size_t i = 0; i < at.count; ++i) {
      for (size_t v = 0; v < numValues; ++v)
        values[v] = body.result(v)[i];
      update.fold(current, values);
      ++step;
      if (step % kRun == 0 || step == length)
        endRun();
      if (step == length)
        endOutput();
    }
  }

  storeFinished(reducer, type, folded, result);
  return {};
}

} // namespace

Result<std::vector<std::byte>>
evaluatePrimitive(const Primitive &primitive, const TensorType &resultType,
                  std::span<const OperandView> operands) {
  std::vector<std::byte> result(resultType.bytes());
  Status status;
  switch (primitive.kind) {
  case Primitive::Kind::Pull:
    status = evaluatePull(primitive, resultType, operands, result);
    break;
  case Primitive::Kind::Reduce:
    status = evaluateReduce(primitive, resultType, operands, result);
    break;
  case Primitive::Kind::Library:
    evaluation::evaluateLibraryCall(primitive.call, operands, result);
    break;
  case Primitive::Kind::Scan:
    status = evaluateScan(primitive, resultType, operands, result);
    break;
  case Primitive::Kind::Push:
    status = evaluatePush(primitive, resultType, operands, result);
    break;
  case Primitive::Kind::Sort:
    status = evaluateSort(primitive, resultType, operands, result);
    break;
  case Primitive::Kind::Loop:
  case Primitive::Kind::Project:
    return Error::internal(primitive.name,
                           "a loop is evaluated with its graph only");
  }
  if (!status.ok())
    return status.error();
  return result;
}

Result<std::vector<HostTensor>>
evaluateGraph(const PrimitiveGraph &graph, std::span<const HostTensor> inputs) {
  std::vector<OperandView> views;
  for (const HostTensor &input : inputs)
    views.push_back({input.type, input.bytes});
  return evaluation::evaluateViews(graph, views);
}

Result<std::vector<HostTensor>>
evaluation::evaluateViews(const PrimitiveGraph &graph,
                          std::span<const OperandView> inputs) {
  std::vector<std::vector<std::byte>> results(graph.values.size());
  std::vector<std::span<const std::byte>> bytes(graph.values.size());
  std::vector<uint32_t> usesLeft(graph.values.size(), 0);
  std::unordered_map<ValueId, std::vector<HostTensor>>
      loopResults; // by the loop's token
  for (const Primitive &primitive : graph.primitives)
    for (ValueId operand : primitive.operands)
      ++usesLeft[operand];
  for (ValueId output : graph.outputs)
    ++usesLeft[output];

  if (inputs.size() != graph.inputs.size())
    return Error::internal(graph.name,
                           "has " + std::to_string(graph.inputs.size()) +
                               " inputs, not " + std::to_string(inputs.size()));
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!(inputs[i].type == graph.type(graph.inputs[i])))
      return Error::internal(graph.values[graph.inputs[i]].name,
                             "is " + toString(graph.type(graph.inputs[i])) +
                                 ", not " + toString(inputs[i].type));
    bytes[graph.inputs[i]] = inputs[i].bytes;
  }
  for (ValueId id = 0; id < graph.values.size(); ++id)
    if (graph.values[id].kind == Value::Kind::Constant)
      bytes[id] = {graph.values[id].constant.data,
                   graph.values[id].constant.bytes};

  for (const Primitive &primitive : graph.primitives) {
    std::vector<OperandView> operands;
    for (ValueId operand : primitive.operands)
      operands.push_back({graph.type(operand), bytes[operand]});
    if (primitive.kind == Primitive::Kind::Project) {
      results[primitive.result] =
          loopResults.at(primitive.operands[0])[primitive.projection].bytes;
    } else if (primitive.kind == Primitive::Kind::Loop) {
      auto made = evaluateLoop(*primitive.loop, operands);
      if (!made.ok())
        return made.error();
      loopResults[primitive.result] = std::move(*made);
    } else {
      auto result =
          evaluatePrimitive(primitive, graph.type(primitive.result), operands);
      if (!result.ok())
        return result.error();
      results[primitive.result] = std::move(*result);
    }
    bytes[primitive.result] = results[primitive.result];
    for (ValueId operand : primitive.operands)
      if (!--usesLeft[operand]) {
        results[operand] = {};
        loopResults.erase(operand);
      }
  }
  std::vector<HostTensor> outputs;
  for (ValueId output : graph.outputs)
    outputs.push_back(
        {graph.type(output), {bytes[output].begin(), bytes[output].end()}});
  return outputs;
}

} // namespace lockstitch
