#include "compiler/graph/evaluate_library.h"

#include "compiler/graph/evaluate_scalar.h"

#include <cmath>

namespace lockstitch::evaluation {
namespace {

/// All elements of an operand, widened to the type of accumulation.
template <typename T> std::vector<T> widen(const OperandView &operand) {
  ElementType type = operand.type.element;
  std::vector<T> values(operand.bytes.size() / byteSize(type));
  for (size_t i = 0; i < values.size(); ++i) {
    Slot slot = load(type, operand.bytes.data() + i * byteSize(type));
    values[i] = isFloat(type) ? static_cast<T>(slot.real)
                              : static_cast<T>(slot.integer);
  }
  return values;
}

template <typename T>
void storeValue(ElementType type, Activation activation, T value,
                std::byte *place) {
  // NaN is not below zero and stays.
  if (activation == Activation::Relu && !(value > 0) && value == value)
    value = 0;
  Slot slot;
  if (isFloat(type))
    slot.real = static_cast<double>(value);
  else
    slot.integer = static_cast<int64_t>(value);
  store(type, slot, place);
}

/// T accumulates: float, double, or uint64_t for integers (which wrap around).
template <typename T>
void matmul(const MatMulCall &call, Activation activation,
            std::span<const OperandView> operands,
            std::vector<std::byte> &result) {
  std::vector<T> a = widen<T>(operands[0]), b = widen<T>(operands[1]), c;
  if (call.hasC)
    c = widen<T>(operands[2]);
  size_t batchRank = call.batch.size();
  int64_t batches = 1;
  for (int64_t extent : call.batch)
    batches *= extent;
  size_t width = byteSize(call.type);
  std::vector<T> row(call.n);
  for (int64_t index = 0; index < batches; ++index) {
    int64_t aBase = call.a.offset, bBase = call.b.offset, cBase = call.c.offset,
            rBase = call.result.offset;
    int64_t rest = index;
    for (size_t d = batchRank; d-- > 0;) {
      int64_t at = rest % call.batch[d];
      rest /= call.batch[d];
      aBase += at * call.a.strides[d];
      bBase += at * call.b.strides[d];
      rBase += at * call.result.strides[d];
      if (call.hasC)
        cBase += at * call.c.strides[d];
    }
    int64_t am = call.a.strides[batchRank], ak = call.a.strides[batchRank + 1];
    int64_t bk = call.b.strides[batchRank], bn = call.b.strides[batchRank + 1];
    int64_t rm = call.result.strides[batchRank],
            rn = call.result.strides[batchRank + 1];
    for (int64_t m = 0; m < call.m; ++m) {
      std::fill(row.begin(), row.end(), T(0));
      for (int64_t k = 0; k < call.k; ++k) {
        T left = a[aBase + m * am + k * ak];
        const T *right = b.data() + bBase + k * bk;
        for (int64_t n = 0; n < call.n; ++n)
          row[n] += left * right[n * bn];
      }
      for (int64_t n = 0; n < call.n; ++n) {
        T value = row[n];
        if (call.alpha != 1)
          value = static_cast<T>(call.alpha) * value;
        if (call.hasC)
          value += static_cast<T>(call.beta) *
                   c[cBase + m * call.c.strides[batchRank] +
                     n * call.c.strides[batchRank + 1]];
        storeValue(call.type, activation, value,
                   result.data() + (rBase + m * rm + n * rn) * width);
      }
    }
  }
}

template <typename T>
void conv(const ConvCall &call, Activation activation,
          std::span<const OperandView> operands,
          std::vector<std::byte> &result) {
  std::vector<T> input = widen<T>(operands[0]), filter = widen<T>(operands[1]),
                 bias;
  if (call.hasBias)
    bias = widen<T>(operands[2]);
  // One to three dimensions as three, outer ones of extent 1.
  size_t rank = call.kernel.size(), missing = 3 - rank;
  auto three = [&](const std::vector<int64_t> &values, int64_t fill) {
    std::vector<int64_t> all(missing, fill);
    all.insert(all.end(), values.begin(), values.end());
    return all;
  };
  std::vector<int64_t> in = three(call.inputSpatial, 1),
                       out = three(call.outputSpatial, 1),
                       kernel = three(call.kernel, 1),
                       stride = three(call.strides, 1),
                       dilation = three(call.dilations, 1),
                       pad = three(call.padsBegin, 0);
  int64_t inSize = in[0] * in[1] * in[2], outSize = out[0] * out[1] * out[2],
          kSize = kernel[0] * kernel[1] * kernel[2];
  int64_t groupIn = call.inputChannels / call.group,
          groupOut = call.outputChannels / call.group;
  size_t width = byteSize(call.type);
  std::vector<T> plane(outSize);
  for (int64_t n = 0; n < call.batch; ++n)
    for (int64_t m = 0; m < call.outputChannels; ++m) {
      std::fill(plane.begin(), plane.end(), call.hasBias ? bias[m] : T(0));
      for (int64_t c = 0; c < groupIn; ++c) {
        const T *source =
            input.data() +
            (n * call.inputChannels + m / groupOut * groupIn + c) * inSize;
        const T *weights = filter.data() + (m * groupIn + c) * kSize;
        for (int64_t k0 = 0; k0 < kernel[0]; ++k0)
          for (int64_t k1 = 0; k1 < kernel[1]; ++k1)
            for (int64_t k2 = 0; k2 < kernel[2]; ++k2) {
              T weight = weights[(k0 * kernel[1] + k1) * kernel[2] + k2];
              for (int64_t o0 = 0; o0 < out[0]; ++o0) {
                int64_t i0 = o0 * stride[0] - pad[0] + k0 * dilation[0];
                if (i0 < 0 || i0 >= in[0])
                  continue;
                for (int64_t o1 = 0; o1 < out[1]; ++o1) {
                  int64_t i1 = o1 * stride[1] - pad[1] + k1 * dilation[1];
                  if (i1 < 0 || i1 >= in[1])
                    continue;
                  const T *line = source + (i0 * in[1] + i1) * in[2];
                  T *target = plane.data() + (o0 * out[1] + o1) * out[2];
                  for (int64_t o2 = 0; o2 < out[2]; ++o2) {
                    int64_t i2 = o2 * stride[2] - pad[2] + k2 * dilation[2];
                    if (i2 >= 0 && i2 < in[2])
                      target[o2] += weight * line[i2];
                  }
                }
              }
            }
      }
      std::byte *to =
          result.data() + (n * call.outputChannels + m) * outSize * width;
      for (int64_t i = 0; i < outSize; ++i)
        storeValue(call.type, activation, plane[i], to + i * width);
    }
}

template <typename T>
void either(const LibraryCall &call, std::span<const OperandView> operands,
            std::vector<std::byte> &result) {
  if (call.kind == LibraryCall::Kind::MatMul)
    matmul<T>(call.matmul, call.activation, operands, result);
  else
    conv<T>(call.conv, call.activation, operands, result);
}

} // namespace

void evaluateLibraryCall(const LibraryCall &call,
                         std::span<const OperandView> operands,
                         std::vector<std::byte> &result) {
  ElementType type = call.kind == LibraryCall::Kind::MatMul ? call.matmul.type
                                                            : call.conv.type;
  if (type == ElementType::F64)
    either<double>(call, operands, result);
  else if (isFloat(type))
    either<float>(call, operands, result);
  else
    either<uint64_t>(call, operands, result);
}

} // namespace lockstitch::evaluation
