// Activation functions. Each is one Pull; max(x, 0) and its like let NaN
// through, as the standard's reference does.
#include "frontends/onnx/node_context.h"
#include "frontends/onnx/rules.h"

#include <cmath>

namespace lockstitch::onnx {
namespace {

using Op = ScalarOpcode;

/// Arithmetic on scalars in the notation of formulas.
struct Formula {
  ScalarBuilder &b;
  ScalarId x;
  ElementType type() const { return b.type(x); }
  ScalarId constant(double value) { return b.constant(type(), value); }
  ScalarId add(ScalarId l, ScalarId r) { return b.op(Op::Add, {l, r}); }
  ScalarId sub(ScalarId l, ScalarId r) { return b.op(Op::Sub, {l, r}); }
  ScalarId mul(ScalarId l, ScalarId r) { return b.op(Op::Mul, {l, r}); }
  ScalarId div(ScalarId l, ScalarId r) { return b.op(Op::Div, {l, r}); }
  ScalarId max(ScalarId l, ScalarId r) { return b.op(Op::Max, {l, r}); }
  ScalarId min(ScalarId l, ScalarId r) { return b.op(Op::Min, {l, r}); }
  ScalarId exp(ScalarId v) { return b.op(Op::Exp, {v}); }
  ScalarId expMinusOne(ScalarId v) { return sub(exp(v), constant(1)); }
  ScalarId sigmoid(ScalarId v) {
    return div(constant(1), add(constant(1), exp(b.op(Op::Neg, {v}))));
  }
  /// x < 0 ? l : r
  ScalarId ifNegative(ScalarId l, ScalarId r) {
    return b.select(b.op(Op::Lt, {x, constant(0)}), l, r);
  }
};

template <typename F> void activation(NodeContext &c, F make) {
  c.requireFloat(0);
  ValueId x = c.input(0);
  c.setOutput(
      0, elementwise(c, {&x, 1}, c.element(0),
                     [&](ScalarBuilder &b, std::span<const ScalarId> args) {
                       Formula f{b, args[0]};
                       return make(f);
                     }));
}

void relu(NodeContext &c) {
  ValueId x = c.input(0);
  c.setOutput(
      0, elementwise(c, {&x, 1}, c.element(0),
                     [](ScalarBuilder &b, std::span<const ScalarId> args) {
                       return b.op(Op::Max,
                                   {args[0], b.constant(b.type(args[0]), 0)});
                     }));
}

void leakyRelu(NodeContext &c) {
  float alpha = c.attrFloat("alpha", 0.01f);
  activation(c, [&](Formula &f) {
    return f.ifNegative(f.mul(f.constant(alpha), f.x), f.x);
  });
}

void prelu(NodeContext &c) {
  c.requireSameType(0, 2);
  ValueId operands[] = {c.input(0), c.input(1)};
  if (c.broadcast(operands) != c.extents(0))
    c.refuse("its slope " + toString(c.extents(1)) + " does not broadcast to " +
             toString(c.extents(0)));
  c.setOutput(
      0,
      elementwise(c, operands, c.element(0),
                  [](ScalarBuilder &b, std::span<const ScalarId> args) {
                    ScalarId isNegative =
                        b.op(Op::Lt, {args[0], b.constant(b.type(args[0]), 0)});
                    return b.select(isNegative,
                                    b.op(Op::Mul, {args[0], args[1]}), args[0]);
                  }));
}

void elu(NodeContext &c) {
  float alpha = c.attrFloat("alpha", 1);
  activation(c, [&](Formula &f) {
    return f.ifNegative(f.mul(f.constant(alpha), f.expMinusOne(f.x)), f.x);
  });
}

void celu(NodeContext &c) {
  float alpha = c.attrFloat("alpha", 1);
  activation(c, [&](Formula &f) {
    ScalarId a = f.constant(alpha);
    return f.ifNegative(f.mul(a, f.expMinusOne(f.div(f.x, a))), f.x);
  });
}

void selu(NodeContext &c) {
  float alpha = c.attrFloat("alpha", 1.67326319217681884765625f),
        gamma = c.attrFloat("gamma", 1.05070102214813232421875f);
  activation(c, [&](Formula &f) {
    ScalarId g = f.constant(gamma);
    return f.ifNegative(f.mul(g, f.mul(f.constant(alpha), f.expMinusOne(f.x))),
                        f.mul(g, f.x));
  });
}

void sigmoid(NodeContext &c) {
  activation(c, [](Formula &f) { return f.sigmoid(f.x); });
}

void swish(NodeContext &c) {
  float alpha = c.attrFloat("alpha", 1);
  activation(c, [&](Formula &f) {
    return f.mul(f.x,
                 f.sigmoid(alpha == 1 ? f.x : f.mul(f.constant(alpha), f.x)));
  });
}

ScalarId hardSigmoidOf(Formula &f, float alpha, float beta) {
  ScalarId line = f.add(f.mul(f.constant(alpha), f.x), f.constant(beta));
  return f.max(f.constant(0), f.min(f.constant(1), line));
}

void hardSigmoid(NodeContext &c) {
  float alpha = c.attrFloat("alpha", 0.2f), beta = c.attrFloat("beta", 0.5f);
  activation(c, [&](Formula &f) { return hardSigmoidOf(f, alpha, beta); });
}

void hardSwish(NodeContext &c) {
  activation(c, [](Formula &f) {
    return f.mul(f.x, hardSigmoidOf(f, 1.0f / 6, 0.5f));
  });
}

/// log(1 + exp(x)) without overflow, and without losing exp(x) beside 1:
/// log1p(e) = log(u) * e / (u - 1) with u = 1 + e.
ScalarId softplusOf(Formula &f) {
  ScalarId e = f.exp(f.b.op(Op::Neg, {f.b.op(Op::Abs, {f.x})})),
           one = f.constant(1);
  ScalarId u = f.add(one, e), rest = f.sub(u, one);
  ScalarId isTiny = f.b.op(Op::Eq, {rest, f.constant(0)});
  ScalarId divisor = f.b.select(isTiny, one, rest);
  ScalarId log1p =
      f.b.select(isTiny, e, f.div(f.mul(f.b.op(Op::Log, {u}), e), divisor));
  return f.add(f.max(f.x, f.constant(0)), log1p);
}

void softplus(NodeContext &c) { activation(c, softplusOf); }

void mish(NodeContext &c) {
  activation(c, [](Formula &f) {
    return f.mul(f.x, f.b.op(Op::Tanh, {softplusOf(f)}));
  });
}

void softsign(NodeContext &c) {
  activation(c, [](Formula &f) {
    return f.div(f.x, f.add(f.constant(1), f.b.op(Op::Abs, {f.x})));
  });
}

void thresholdedRelu(NodeContext &c) {
  float alpha = c.attrFloat("alpha", 1);
  activation(c, [&](Formula &f) {
    return f.b.select(f.b.op(Op::Gt, {f.x, f.constant(alpha)}), f.x,
                      f.constant(0));
  });
}

void gelu(NodeContext &c) {
  std::string approximate = c.attrString("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    c.refuse("attribute 'approximate' should be none or tanh, not '" +
             approximate + "'");
  activation(c, [&](Formula &f) {
    ScalarId inner;
    if (approximate == "tanh") {
      ScalarId cube = f.mul(f.mul(f.x, f.x), f.x);
      ScalarId sum = f.add(f.x, f.mul(f.constant(0.044715), cube));
      inner = f.b.op(Op::Tanh, {f.mul(f.constant(std::sqrt(2 / M_PI)), sum)});
    } else {
      inner = f.b.op(Op::Erf, {f.mul(f.x, f.constant(M_SQRT1_2))});
    }
    return f.mul(f.mul(f.constant(0.5), f.x), f.add(f.constant(1), inner));
  });
}

constexpr Rule kRules[] = {
    {"Celu", 12, kNewest, celu},
    {"Elu", 6, kNewest, elu},
    {"Gelu", 20, kNewest, gelu},
    {"HardSigmoid", 6, kNewest, hardSigmoid},
    {"HardSwish", 14, kNewest, hardSwish},
    {"LeakyRelu", 6, kNewest, leakyRelu},
    {"Mish", 18, kNewest, mish},
    {"PRelu", 7, kNewest, prelu},
    {"Relu", 1, kNewest, relu},
    {"Selu", 6, kNewest, selu},
    {"Sigmoid", 1, kNewest, sigmoid},
    {"Softplus", 1, kNewest, softplus},
    {"Softsign", 1, kNewest, softsign},
    {"Swish", 24, kNewest, swish},
    {"ThresholdedRelu", 10, kNewest, thresholdedRelu},
};

} // namespace

std::span<const Rule> activationRules() { return kRules; }

} // namespace lockstitch::onnx
