// Matrix products and convolutions: library calls. Transposes and broadcasts
// are strides; what is added afterwards (C of a Gemm, the bias of a
// convolution) is a Pull of its own, so that it can be stitched to what
// follows.
#include "frontends/onnx/rules.h"
#include "frontends/onnx/spatial.h"

#include <algorithm>

namespace lockstitch::onnx {
namespace {

using Op = ScalarOpcode;

std::vector<int64_t> stridesOf(const Extents &extents) {
  return rowMajorStrides(toShape(extents));
}

/// Adds the primitive of a call. An empty product is a tensor of zeros, and not
/// worth a call.
ValueId addCall(NodeContext &c, LibraryCall call, std::vector<ValueId> operands,
                const Extents &to, bool isZero) {
  ElementType type = c.element(0);
  if (isZero) {
    BodyBuilder body(c.graph, toShape(to));
    return body.pull(body.b.constant(type, 0), type);
  }
  Primitive primitive;
  primitive.kind = Primitive::Kind::Library;
  primitive.operands = std::move(operands);
  primitive.domain = toShape(to);
  primitive.call = std::move(call);
  return c.graph.add(std::move(primitive), {type, toShape(to)});
}

void matmul(NodeContext &c) {
  c.requireSameType(0, 2);
  Extents a = c.extents(0), b = c.extents(1);
  if (a.empty() || b.empty())
    c.refuse("a scalar cannot be multiplied as a matrix");
  if (c.element(0) == ElementType::Bool)
    c.refuse("a product of bools is not defined");
  // 1-D operands are a row on the left, a column on the right; the dimension
  // that this adds is dropped from the result.
  bool rowVector = a.size() == 1, columnVector = b.size() == 1;
  if (rowVector)
    a.insert(a.begin(), 1);
  if (columnVector)
    b.push_back(1);
  size_t aBatch = a.size() - 2, bBatch = b.size() - 2;
  int64_t m = a[aBatch], k = a[aBatch + 1], n = b[bBatch + 1];
  if (b[bBatch] != k)
    c.refuse("the shapes " + toString(c.extents(0)) + " and " +
             toString(c.extents(1)) + " cannot be multiplied: " +
             std::to_string(k) + " is not " + std::to_string(b[bBatch]));

  size_t rank = std::max(aBatch, bBatch);
  Extents batch(rank, 1);
  auto extentOf = [&](const Extents &extents, size_t own, size_t i) {
    return i + own < rank ? 1 : extents[i + own - rank];
  };
  for (size_t i = 0; i < rank; ++i) {
    int64_t left = extentOf(a, aBatch, i), right = extentOf(b, bBatch, i);
    if (left != right && left != 1 && right != 1)
      c.refuse("the batch dimensions of " + toString(c.extents(0)) + " and " +
               toString(c.extents(1)) + " do not broadcast");
    batch[i] = left == 1 ? right : left;
  }
  Extents to = batch;
  if (!rowVector)
    to.push_back(m);
  if (!columnVector)
    to.push_back(n);

  LibraryCall call;
  call.kind = LibraryCall::Kind::MatMul;
  MatMulCall &product = call.matmul;
  product.type = c.element(0);
  product.n = n;
  product.k = k;
  bool oneRight = true; // the right side is one matrix: the batch of the left
                        // side is just more rows
  for (size_t i = 0; i < rank; ++i)
    oneRight &=
        extentOf(b, bBatch, i) == 1 && extentOf(a, aBatch, i) == batch[i];
  if (oneRight) {
    product.m = m;
    for (int64_t extent : batch)
      product.m *= extent;
    product.a.strides = {k, 1};
    product.b.strides = {n, 1};
    product.result.strides = {n, 1};
  } else {
    product.m = m;
    product.batch = batch;
    std::vector<int64_t> aStrides = stridesOf(a), bStrides = stridesOf(b);
    Extents full = batch;
    full.push_back(m);
    full.push_back(n);
    product.result.strides = stridesOf(full);
    for (size_t i = 0; i < rank; ++i) {
      product.a.strides.push_back(
          extentOf(a, aBatch, i) == 1 ? 0 : aStrides[i + aBatch - rank]);
      product.b.strides.push_back(
          extentOf(b, bBatch, i) == 1 ? 0 : bStrides[i + bBatch - rank]);
    }
    for (int64_t stride : {k, int64_t(1)})
      product.a.strides.push_back(stride);
    for (int64_t stride : {n, int64_t(1)})
      product.b.strides.push_back(stride);
  }
  bool isZero = k == 0 || numElements(toShape(to)) == 0;
  c.setOutput(
      0, addCall(c, std::move(call), {c.input(0), c.input(1)}, to, isZero));
}

void gemm(NodeContext &c) {
  c.requireSameType(0, 2);
  if (c.rank(0) != 2 || c.rank(1) != 2)
    c.refuse("its operands should be matrices, not " + toString(c.extents(0)) +
             " and " + toString(c.extents(1)));
  bool transA = c.attrInt("transA", 0) != 0,
       transB = c.attrInt("transB", 0) != 0;
  Extents a = c.extents(0), b = c.extents(1);
  int64_t m = a[transA], k = a[!transA], n = b[!transB];
  if (b[transB] != k)
    c.refuse("the shapes " + toString(a) + " and " + toString(b) +
             " cannot be multiplied");
  ElementType type = c.element(0);
  float alpha = c.attrFloat("alpha", 1), beta = c.attrFloat("beta", 1);
  if (!isFloat(type) && (alpha != 1 || beta != 1))
    c.refuse("alpha and beta of an integer product should be 1");
  LibraryCall call;
  call.kind = LibraryCall::Kind::MatMul;
  MatMulCall &product = call.matmul;
  product.type = type;
  product.m = m;
  product.n = n;
  product.k = k;
  product.a.strides =
      transA ? std::vector<int64_t>{1, m} : std::vector<int64_t>{k, 1};
  product.b.strides =
      transB ? std::vector<int64_t>{1, k} : std::vector<int64_t>{n, 1};
  product.result.strides = {n, 1};
  product.alpha = alpha;
  Extents to = {m, n};
  ValueId result = addCall(c, std::move(call), {c.input(0), c.input(1)}, to,
                           k == 0 || m == 0 || n == 0);
  if (!c.has(2) || beta == 0)
    return c.setOutput(0, result);
  ValueId operands[] = {result, c.input(2)};
  if (c.element(2) != type || c.broadcast(operands) != to)
    c.refuse("its C, " + lockstitch::toString(c.type(2)) +
             ", does not broadcast to " + toString(to));
  c.setOutput(
      0, elementwise(c, operands, type,
                     [&](ScalarBuilder &b, std::span<const ScalarId> args) {
                       ScalarId addend =
                           beta == 1 ? args[1]
                                     : b.op(Op::Mul,
                                            {b.constant(b.type(args[1]), beta),
                                             args[1]});
                       return b.op(Op::Add, {args[0], addend});
                     }));
}

void conv(NodeContext &c) {
  c.requireFloat(0);
  c.requireSameType(0, c.numInputs());
  Extents input = c.extents(0), filter = c.extents(1);
  if (input.size() < 3 || input.size() > 5 || filter.size() != input.size())
    c.refuse("convolutions of one to three dimensions are supported, not " +
             toString(input) + " with " + toString(filter));
  int64_t group = c.attrInt("group", 1), channels = input[1],
          outputs = filter[0];
  if (group < 1 || channels % group || outputs % group ||
      filter[1] != channels / group)
    c.refuse("a filter of " + toString(filter) + " in " +
             std::to_string(group) + " groups does not fit an input of " +
             toString(input));
  Windows w = windowsOf(c, kernelOf(c, filter));
  LibraryCall call;
  call.kind = LibraryCall::Kind::Conv;
  ConvCall &conv = call.conv;
  conv.type = c.element(0);
  conv.batch = input[0];
  conv.inputChannels = channels;
  conv.outputChannels = outputs;
  conv.group = group;
  conv.inputSpatial = w.input;
  conv.kernel = w.kernel;
  conv.outputSpatial = w.output;
  conv.strides = w.strides;
  conv.dilations = w.dilations;
  conv.padsBegin = w.padsBegin;
  conv.padsEnd = w.padsEnd;
  Extents to = {input[0], outputs};
  to.insert(to.end(), w.output.begin(), w.output.end());
  bool isZero = c.type(0).elements() == 0 || c.type(1).elements() == 0;
  ValueId result =
      addCall(c, std::move(call), {c.input(0), c.input(1)}, to, isZero);
  if (!c.has(2))
    return c.setOutput(0, result);
  if (c.rank(2) != 1 || c.extents(2)[0] != outputs)
    c.refuse("its bias should have the shape [" + std::to_string(outputs) +
             "], not " + toString(c.extents(2)));
  BodyBuilder body(c.graph, toShape(to));
  ScalarId sum =
      body.b.op(Op::Add, {body.readWide(result, identityAt(body.rank())),
                          body.readWide(c.input(2), {IndexExpr::dim(1)})});
  c.setOutput(0, body.pull(sum, c.element(0)));
}

constexpr Rule kRules[] = {
    {"Conv", 1, kNewest, conv},
    {"Gemm", 7, kNewest, gemm},
    {"MatMul", 1, kNewest, matmul},
};

} // namespace

std::span<const Rule> productRules() { return kRules; }

} // namespace lockstitch::onnx
