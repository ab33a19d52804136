// RNN, GRU and LSTM: a Loop over time.
//
//   before the loop   x * W of all time steps and directions, one product; W's and R's biases added up
//   each trip         h * R, one product for all gates and directions; one kernel that adds, activates and makes the next state
//                     (a GRU that resets before its product has two of each)
//   after it          Y is what the trips left behind; with two directions the backward one is turned round
//
// Both directions take their trips together: the state is [directions, batch, hidden], and in trip s the forward direction
// reads time s, the backward one time T-1-s. With lengths of their own, sequence b reads len[b]-1-s, keeps its state from
// trip len[b] on, and its Y is zero from there.
#include "frontends/onnx/loop_builder.h"
#include "frontends/onnx/node_context.h"
#include "frontends/onnx/rules.h"

#include <algorithm>

namespace lockstitch::onnx {
namespace {

using Op = ScalarOpcode;

struct Activation {
  std::string name;
  float alpha = 0, beta = 0;
  bool operator==(const Activation &) const = default;
};

/// The functions that the standard names, with their defaults.
struct KnownActivation {
  std::string_view name;
  float alpha, beta;
  int parameters; // how many of alpha and beta it takes
};
constexpr KnownActivation kActivations[] = {
    {"Affine", 1, 0, 2},
    {"Elu", 1, 0, 1},
    {"HardSigmoid", 0.2f, 0.5f, 2},
    {"LeakyRelu", 0.01f, 0, 1},
    {"Relu", 0, 0, 0},
    {"ScaledTanh", 1, 1, 2},
    {"Sigmoid", 0, 0, 0},
    {"Softplus", 0, 0, 0},
    {"Softsign", 0, 0, 0},
    {"Tanh", 0, 0, 0},
    {"ThresholdedRelu", 1, 0, 1},
};

ScalarId activate(ScalarBuilder &b, const Activation &f, ScalarId x) {
  ElementType type = b.type(x);
  auto constant = [&](double value) { return b.constant(type, value); };
  auto isPositive = [&] { return b.op(Op::Gt, {x, constant(0)}); };
  auto exp = [&](ScalarId v) { return b.op(Op::Exp, {v}); };
  auto times = [&](ScalarId v, double factor) {
    return b.op(Op::Mul, {v, constant(factor)});
  };
  auto plus = [&](ScalarId v, double addend) {
    return b.op(Op::Add, {v, constant(addend)});
  };
  if (f.name == "Tanh")
    return b.op(Op::Tanh, {x});
  if (f.name == "Sigmoid")
    return b.op(Op::Div, {constant(1), plus(exp(b.op(Op::Neg, {x})), 1)});
  if (f.name == "Relu")
    return b.op(Op::Max, {x, constant(0)});
  if (f.name == "Affine")
    return plus(times(x, f.alpha), f.beta);
  if (f.name == "LeakyRelu")
    return b.select(isPositive(), x, times(x, f.alpha));
  if (f.name == "ThresholdedRelu")
    return b.select(b.op(Op::Gt, {x, constant(f.alpha)}), x, constant(0));
  if (f.name == "ScaledTanh")
    return times(b.op(Op::Tanh, {times(x, f.beta)}), f.alpha);
  if (f.name == "HardSigmoid")
    return b.op(Op::Min,
                {b.op(Op::Max, {plus(times(x, f.alpha), f.beta), constant(0)}),
                 constant(1)});
  if (f.name == "Elu")
    return b.select(isPositive(), x, times(plus(exp(x), -1), f.alpha));
  if (f.name == "Softsign")
    return b.op(Op::Div, {x, plus(b.op(Op::Abs, {x}), 1)});
  // Softplus, without overflow: max(x, 0) + log(1 + exp(-|x|)).
  ScalarId small = plus(exp(b.op(Op::Neg, {b.op(Op::Abs, {x})})), 1);
  return b.op(Op::Add,
              {b.op(Op::Max, {x, constant(0)}), b.op(Op::Log, {small})});
}

/// What the three operators have in common.
class Recurrence {
public:
  Recurrence(NodeContext &c, int64_t gates,
             std::vector<std::string> defaultActivations)
      : c(c), gates(gates) {
    readSizes();
    readActivations(std::move(defaultActivations));
    readLengths();
  }

  NodeContext &c;
  const int64_t gates;
  int64_t time, batch, inputs, hidden, directions;
  bool isBackward = false; // the only direction
  bool batchFirst = false;
  ElementType type;
  std::optional<LoopBuilder> loop;
  ValueId bias = kNone; // [directions, gates * hidden], W's and R's added up

  /// An operand with a slice per direction, of `count` elements each; kNone where it is absent.
  ValueId perDirection(size_t input, int64_t count) {
    if (!c.has(input))
      return kNone;
    require(input, {directions, count});
    return c.input(input);
  }

  /// A state [directions, batch, hidden], zero where its initial value is absent.
  ValueId initialState(size_t input) {
    if (!c.has(input)) {
      BodyBuilder zero(c.graph, stateShape());
      return zero.pull(zero.b.constant(type, 0), type);
    }
    if (!batchFirst) {
      require(input, {directions, batch, hidden});
      return c.input(input);
    }
    require(input, {batch, directions, hidden});
    return transpose(c.graph, c.input(input), {1, 0, 2});
  }

  /// Begins the loop: x * W is there, slice by slice.
  void begin() {
    ValueId products = inputProducts();
    if (c.has(3)) {
      require(3, {directions, 2 * gates * hidden});
      bias = addBiases();
    }
    bool mirrored = lengths != kNone; // turned round beforehand
    ValueId turned = kNone;
    if (mirrored && (isBackward || directions == 2))
      turned = turnRound(products);
    loop.emplace(c.graph);
    if (directions == 2 || !isBackward)
      forward = loop->slice(products);
    if (directions == 2 || isBackward)
      backward = mirrored ? loop->slice(turned) : loop->slice(products, true);
    if (lengths != kNone)
      trip = loop->trip();
  }

  Shape stateShape() const { return {directions, batch, hidden}; }

  /// state * R^T for `count` gates from `first` on: [directions, batch, count * hidden].
  ValueId product(ValueId state, int64_t first, int64_t count) {
    LibraryCall call;
    call.kind = LibraryCall::Kind::MatMul;
    MatMulCall &m = call.matmul;
    m.type = type;
    m.m = batch;
    m.n = count * hidden;
    m.k = hidden;
    m.a.strides = {hidden, 1};
    m.b.offset = first * hidden * hidden;
    m.b.strides = {1, hidden};
    m.result.strides = {m.n, 1};
    if (directions == 2) {
      m.batch = {2};
      m.a.strides.insert(m.a.strides.begin(), batch * hidden);
      m.b.strides.insert(m.b.strides.begin(), gates * hidden * hidden);
      m.result.strides.insert(m.result.strides.begin(), batch * m.n);
    }
    Primitive primitive;
    primitive.kind = Primitive::Kind::Library;
    primitive.operands = {state, loop->capture(c.input(2))};
    primitive.domain = {directions, batch, m.n};
    primitive.call = std::move(call);
    TensorType result{type, primitive.domain};
    return loop->body.add(std::move(primitive), std::move(result));
  }

  // Elements, in a body over [directions, batch, hidden].

  static IndexExpr d(unsigned i) { return IndexExpr::dim(i); }
  IndexExpr column(int64_t gate) const {
    return d(2) + IndexExpr::constant(gate * hidden);
  }
  ScalarId readState(BodyBuilder &body, ValueId state) {
    return body.readWide(state, identityAt(3));
  }
  /// x * W, of the direction's time step.
  ScalarId readInput(BodyBuilder &body, int64_t gate) {
    if (directions == 1)
      return body.readWide(isBackward ? backward : forward,
                           {d(1), column(gate)});
    ScalarId first =
                 body.readWide(forward, {d(1), column(gate)}, {{d(0), 0, 0}}),
             second = body.readWide(backward, {d(1), column(gates + gate)},
                                    {{d(0), 1, 1}});
    return body.b.select(body.b.inRange(d(0), 0, 0), first, second);
  }
  ScalarId readProduct(BodyBuilder &body, ValueId product, int64_t gate) {
    return body.readWide(product, {d(0), d(1), column(gate)});
  }
  /// Element of a per-direction vector of gates; nothing is added where it is absent.
  ScalarId addGate(BodyBuilder &body, ScalarId sum, ValueId vector,
                   int64_t gate) {
    if (vector == kNone)
      return sum;
    return body.b.op(Op::Add, {sum, readGate(body, vector, gate)});
  }
  ScalarId readGate(BodyBuilder &body, ValueId vector, int64_t gate) {
    return body.readWide(loop->capture(vector), {d(0), column(gate)});
  }
  /// Applies activation `which` to the sum of a gate, clipped. What LSTM's
  /// third one is applied to is no such sum, and ONNX Runtime does not clip it.
  ScalarId activated(BodyBuilder &body, size_t which, ScalarId x) {
    ScalarBuilder &b = body.b;
    if (clip > 0 && which < 2)
      x = b.op(Op::Min, {b.op(Op::Max, {x, b.constant(b.type(x), -clip)}),
                         b.constant(b.type(x), clip)});
    const Activation &f = activations[which];
    if (directions == 1)
      return activate(b, f, x);
    const Activation &g = activations[activations.size() / 2 + which];
    if (f == g)
      return activate(b, f, x);
    return b.select(b.inRange(d(0), 0, 0), activate(b, f, x),
                    activate(b, g, x));
  }
  /// Ends a body that makes the next state: a sequence that has ended keeps its old one.
  ValueId nextState(BodyBuilder &body, ScalarId next, ValueId old) {
    if (lengths != kNone) {
      ScalarId length = body.b.cast(body.read(loop->capture(lengths), {d(1)}),
                                    ElementType::I64);
      ScalarId isActive = body.b.op(Op::Lt, {body.read(trip, {}), length});
      next = body.b.select(isActive, next, readState(body, old));
    }
    return body.pull(next, type);
  }

  /// Ends the loop; `hidden` is the next hidden state, `carried` all states in the order of the outputs from 1 on.
  void end(ValueId nextHidden) {
    bool wantsAll = c.wantsOutput(0);
    if (wantsAll)
      loop->collect(nextHidden,
                    directions == 1 && isBackward && lengths == kNone);
    std::vector<ValueId> results = loop->finish(time);
    if (wantsAll) {
      ValueId all = results.back(); // [time, directions, batch, hidden]
      if (directions == 2 || lengths != kNone)
        all = inOrder(all);
      c.setOutput(0, batchFirst ? transpose(c.graph, all, {2, 0, 1, 3}) : all);
      results.pop_back();
    }
    for (size_t i = 0; i < results.size(); ++i)
      if (c.wantsOutput(i + 1))
        c.setOutput(i + 1, batchFirst
                               ? transpose(c.graph, results[i], {1, 0, 2})
                               : results[i]);
  }

private:
  void require(size_t input, const Extents &expected) {
    if (c.extents(input) != expected || c.element(input) != type)
      c.refuse("its input " + std::to_string(input) + " should be " +
               lockstitch::toString(TensorType{type, toShape(expected)}) +
               ", not " + lockstitch::toString(c.type(input)));
  }

  void readSizes() {
    c.requireFloat(0);
    type = c.element(0);
    batchFirst = c.attrInt("layout", 0) != 0;
    if (c.rank(0) != 3 || c.rank(1) != 3 || c.rank(2) != 3)
      c.refuse("its first three inputs should have three dimensions");
    Extents x = c.extents(0);
    time = x[batchFirst];
    batch = x[!batchFirst];
    inputs = x[2];
    hidden = c.extents(2)[2];
    std::string direction = c.attrString("direction", "forward");
    if (direction != "forward" && direction != "reverse" &&
        direction != "bidirectional")
      c.refuse("there is no direction '" + direction + "'");
    directions = direction == "bidirectional" ? 2 : 1;
    isBackward = direction == "reverse";
    require(1, {directions, gates * hidden, inputs});
    require(2, {directions, gates * hidden, hidden});
    if (int64_t said = c.attrInt("hidden_size", hidden); said != hidden)
      c.refuse("hidden_size " + std::to_string(said) + " does not fit R, " +
               toString(c.extents(2)));
    if (time == 0 || batch == 0 || inputs == 0 || hidden == 0)
      c.refuse("empty sequences are not supported");
    if (time > kMaxTrips)
      c.refuse("it has " + std::to_string(time) + " time steps, more than " +
               std::to_string(kMaxTrips));
    clip = c.attrFloat("clip", 0);
  }

  void readActivations(std::vector<std::string> defaults) {
    std::vector<std::string> names;
    for (int64_t i = 0; i < directions; ++i)
      names.insert(names.end(), defaults.begin(), defaults.end());
    if (const Attribute *given = c.node.attribute("activations")) {
      if (given->strings.size() != names.size())
        c.refuse("it names " + std::to_string(given->strings.size()) +
                 " activations instead of " + std::to_string(names.size()));
      names = given->strings;
    }
    auto list = [&](std::string_view name) {
      const Attribute *given = c.node.attribute(name);
      return given ? given->floats : std::vector<float>();
    };
    std::vector<float> alphas = list("activation_alpha"),
                       betas = list("activation_beta");
    size_t alpha = 0, beta = 0; // taken in order by those that have them
    for (const std::string &name : names) {
      auto known = std::find_if(
          std::begin(kActivations), std::end(kActivations),
          [&](const KnownActivation &entry) { return entry.name == name; });
      if (known == std::end(kActivations))
        c.refuse("the activation '" + name + "' is not supported");
      Activation f{name, known->alpha, known->beta};
      if (known->parameters > 0 && alpha < alphas.size())
        f.alpha = alphas[alpha++];
      if (known->parameters > 1 && beta < betas.size())
        f.beta = betas[beta++];
      activations.push_back(std::move(f));
    }
  }

  void readLengths() {
    if (!c.has(4))
      return;
    if (c.extents(4) != Extents{batch} || c.element(4) != ElementType::I32)
      c.refuse("its sequence_lens should be i32[" + std::to_string(batch) +
               "], not " + lockstitch::toString(c.type(4)));
    auto known = c.graph.constantInts(c.input(4));
    bool areAllWhole =
        known && std::all_of(known->begin(), known->end(),
                             [&](int64_t length) { return length == time; });
    if (!areAllWhole)
      lengths = c.input(4);
  }

  /// x * W^T: [time, batch, directions * gates * hidden].
  ValueId inputProducts() {
    ValueId x =
        batchFirst ? transpose(c.graph, c.input(0), {1, 0, 2}) : c.input(0);
    LibraryCall call;
    call.kind = LibraryCall::Kind::MatMul;
    MatMulCall &m = call.matmul;
    m.type = type;
    m.m = time * batch;
    m.n = directions * gates * hidden;
    m.k = inputs;
    m.a.strides = {inputs, 1};
    m.b.strides = {1, inputs};
    m.result.strides = {m.n, 1};
    Primitive primitive;
    primitive.kind = Primitive::Kind::Library;
    primitive.operands = {x, c.input(1)};
    primitive.domain = {time, batch, m.n};
    primitive.call = std::move(call);
    TensorType result{type, primitive.domain};
    return c.graph.add(std::move(primitive), std::move(result));
  }

  ValueId addBiases() {
    BodyBuilder body(c.graph, {directions, gates * hidden});
    ScalarId sum = body.b.op(
        Op::Add,
        {body.readWide(c.input(3), {d(0), d(1)}),
         body.readWide(c.input(3),
                       {d(0), d(1) + IndexExpr::constant(gates * hidden)})});
    return body.pull(sum, type);
  }

  /// length - 1 - t of the sequence that dimension `sequence` numbers, kept within the time steps.
  ScalarId mirrored(BodyBuilder &body, unsigned time0, unsigned sequence) {
    ScalarBuilder &b = body.b;
    ScalarId length =
        b.cast(body.read(lengths, {d(sequence)}), ElementType::I64);
    auto k = [&](int64_t value) {
      return b.constantInt(ElementType::I64, value);
    };
    ScalarId at =
        b.op(Op::Sub, {b.op(Op::Sub, {length, k(1)}), b.index(d(time0))});
    return b.op(Op::Min, {b.op(Op::Max, {at, k(0)}), k(time - 1)});
  }

  /// Every sequence of [time, batch, n] from its own end.
  ValueId turnRound(ValueId products) {
    BodyBuilder body(c.graph, c.graph.type(products).shape);
    ScalarId at = mirrored(body, 0, 1);
    return body.pull(
        body.read(products, {IndexExpr::runtime(0), d(1), d(2)}, {}, {at}),
        type);
  }

  /// What trip s left, [time, directions, batch, hidden], as Y wants it by time.
  ValueId inOrder(ValueId all) {
    BodyBuilder body(c.graph, c.graph.type(all).shape);
    ScalarBuilder &b = body.b;
    bool hasForward = directions == 2 || !isBackward,
         hasBackward = directions == 2 || isBackward;
    auto only = [&](int64_t direction) {
      return directions == 2
                 ? std::vector<IndexConstraint>{{d(1), direction, direction}}
                 : std::vector<IndexConstraint>{};
    };
    ScalarId first = kNone, second = kNone;
    if (hasForward)
      first = body.read(all, identityAt(4), only(0));
    if (hasBackward && lengths == kNone)
      second = body.read(
          all,
          {IndexExpr::constant(time - 1) + d(0) * IndexExpr::constant(-1), d(1),
           d(2), d(3)},
          only(1));
    if (hasBackward && lengths != kNone)
      second = body.read(all, {IndexExpr::runtime(0), d(1), d(2), d(3)},
                         only(1), {mirrored(body, 0, 2)});
    ScalarId value = directions == 1
                         ? (isBackward ? second : first)
                         : b.select(b.inRange(d(1), 0, 0), first, second);
    if (lengths != kNone) {
      ScalarId length = b.cast(body.read(lengths, {d(2)}), ElementType::I64);
      value = b.select(b.op(Op::Lt, {b.index(d(0)), length}), value,
                       b.constant(b.type(value), 0));
    }
    return body.pull(value, type);
  }

  float clip = 0;
  std::vector<Activation> activations; // of the first direction, then the other
  ValueId lengths = kNone;             // where they are not all the whole time
  ValueId forward = kNone, backward = kNone; // a trip's slices of x * W
  ValueId trip = kNone;
};

void rnn(NodeContext &c) {
  Recurrence r(c, 1, {"Tanh"});
  ValueId initial = r.initialState(5);
  r.begin();
  ValueId h = r.loop->carry(initial), product = r.product(h, 0, 1);
  BodyBuilder body(r.loop->body, r.stateShape());
  ScalarId sum =
      r.addGate(body,
                body.b.op(Op::Add, {r.readInput(body, 0),
                                    r.readProduct(body, product, 0)}),
                r.bias, 0);
  ValueId next = r.nextState(body, r.activated(body, 0, sum), h);
  r.loop->setNext(h, next);
  r.end(next);
}

void gru(NodeContext &c) {
  Recurrence r(c, 3, {"Sigmoid", "Tanh"});
  enum { Update, Reset, Hidden };
  bool resetsAfter = c.attrInt("linear_before_reset", 0) != 0;
  ValueId initial = r.initialState(5);
  r.begin();
  ValueId h = r.loop->carry(initial);
  ValueId product = r.product(h, 0, resetsAfter ? 3 : 2);
  auto gate = [&](BodyBuilder &body, int64_t which) {
    ScalarId sum = body.b.op(Op::Add, {r.readInput(body, which),
                                       r.readProduct(body, product, which)});
    return r.activated(body, 0, r.addGate(body, sum, r.bias, which));
  };
  ValueId resetProduct = kNone;
  if (!resetsAfter) {
    BodyBuilder body(r.loop->body, r.stateShape());
    ScalarId reset =
        body.b.op(Op::Mul, {gate(body, Reset), r.readState(body, h)});
    resetProduct = r.product(body.pull(reset, r.type), Hidden, 1);
  }
  BodyBuilder body(r.loop->body, r.stateShape());
  ScalarBuilder &b = body.b;
  ScalarId sum = r.readInput(body, Hidden);
  if (!resetsAfter) {
    sum = b.op(Op::Add, {sum, r.readProduct(body, resetProduct, 0)});
    sum = r.addGate(body, sum, r.bias, Hidden);
  } else {
    // R's bias is reset with R's product, W's is not.
    ScalarId linear = r.readProduct(body, product, Hidden);
    if (c.has(3)) {
      linear = r.addGate(body, linear, c.input(3), 3 + Hidden);
      sum = r.addGate(body, sum, c.input(3), Hidden);
    }
    sum = b.op(Op::Add, {sum, b.op(Op::Mul, {gate(body, Reset), linear})});
  }
  ScalarId candidate = r.activated(body, 1, sum), update = gate(body, Update);
  ScalarId one = b.constant(b.type(update), 1);
  ScalarId mixed =
      b.op(Op::Add, {b.op(Op::Mul, {b.op(Op::Sub, {one, update}), candidate}),
                     b.op(Op::Mul, {update, r.readState(body, h)})});
  ValueId next = r.nextState(body, mixed, h);
  r.loop->setNext(h, next);
  r.end(next);
}

void lstm(NodeContext &c) {
  Recurrence r(c, 4, {"Sigmoid", "Tanh", "Tanh"});
  enum { Input, Output, Forget, Cell };
  ValueId initialH = r.initialState(5), initialC = r.initialState(6),
          peephole = r.perDirection(7, 3 * r.hidden);
  r.begin();
  ValueId h = r.loop->carry(initialH), cell = r.loop->carry(initialC);
  ValueId product = r.product(h, 0, 4);
  auto sumOf = [&](BodyBuilder &body, int64_t gate) {
    ScalarId sum = body.b.op(
        Op::Add, {r.readInput(body, gate), r.readProduct(body, product, gate)});
    return r.addGate(body, sum, r.bias, gate);
  };
  /// Input, output and forget gate; they may look at the cell.
  auto gate = [&](BodyBuilder &body, int64_t which, ScalarId state) {
    ScalarId sum = sumOf(body, which);
    if (peephole != kNone)
      sum = body.b.op(
          Op::Add, {sum, body.b.op(Op::Mul, {r.readGate(body, peephole, which),
                                             state})});
    return r.activated(body, 0, sum);
  };
  BodyBuilder cells(r.loop->body, r.stateShape());
  ScalarBuilder &b = cells.b;
  ScalarId old = r.readState(cells, cell), in = gate(cells, Input, old);
  ScalarId forget = c.attrInt("input_forget", 0)
                        ? b.op(Op::Sub, {b.constant(b.type(in), 1), in})
                        : gate(cells, Forget, old);
  ScalarId candidate = r.activated(cells, 1, sumOf(cells, Cell));
  ValueId nextCell =
      r.nextState(cells,
                  b.op(Op::Add, {b.op(Op::Mul, {forget, old}),
                                 b.op(Op::Mul, {in, candidate})}),
                  cell);
  BodyBuilder outputs(r.loop->body, r.stateShape());
  ScalarId state = r.readState(outputs, nextCell);
  ScalarId out = gate(outputs, Output, state);
  ValueId next = r.nextState(
      outputs, outputs.b.op(Op::Mul, {out, r.activated(outputs, 2, state)}), h);
  r.loop->setNext(h, next);
  r.loop->setNext(cell, nextCell);
  r.end(next);
}

constexpr Rule kRules[] = {
    {"GRU", 7, kNewest, gru},
    {"LSTM", 7, kNewest, lstm},
    {"RNN", 7, kNewest, rnn},
};

} // namespace

std::span<const Rule> recurrentRules() { return kRules; }

} // namespace lockstitch::onnx
