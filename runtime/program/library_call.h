// The contract of a library call: products and convolutions, which a library
// does better than a kernel of ours.
//
// Operands are tensors with strides, so transposes, splits of q/k/v and
// broadcast batches are absorbed instead of copied. All strides and offsets are
// in elements.
#ifndef LOCKSTITCH_RUNTIME_PROGRAM_LIBRARY_CALL_H
#define LOCKSTITCH_RUNTIME_PROGRAM_LIBRARY_CALL_H

#include "runtime/program/element_type.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstitch {

/// A view of a buffer: element (i0, ..., in-1) lies at offset + sum(i *
/// stride).
struct StridedView {
  int64_t offset = 0;
  std::vector<int64_t> strides;
  bool operator==(const StridedView &) const = default;
};

/// result[batch, m, n] = alpha * sum over k of a[batch, m, k] * b[batch, k, n]
/// (+ beta * c[batch, m, n] if there is a c). Accumulates in f32 for f16, bf16
/// and f32, in f64 for f64, exactly (wrapping) for integers.
struct MatMulCall {
  ElementType type = ElementType::F32;
  std::vector<int64_t> batch; // extents; operands broadcast with stride 0
  int64_t m = 0, n = 0, k = 0;
  StridedView a;      // rank: batch + (m, k)
  StridedView b;      // rank: batch + (k, n)
  StridedView c;      // rank: batch + (m, n); third operand, only if hasC
  StridedView result; // rank: batch + (m, n)
  bool hasC = false;
  float alpha = 1, beta = 1;
  bool operator==(const MatMulCall &) const = default;
};

/// N-dimensional (1 to 3) grouped convolution, contiguous NC(spatial) input,
/// M(C/group)(spatial) filter and result. Operands: input, filter, and a bias
/// of M elements if hasBias.
struct ConvCall {
  ElementType type = ElementType::F32;
  int64_t batch = 0, inputChannels = 0, outputChannels = 0, group = 1;
  std::vector<int64_t> inputSpatial, kernel, outputSpatial;
  std::vector<int64_t> strides, dilations, padsBegin, padsEnd;
  bool hasBias = false;
  bool operator==(const ConvCall &) const = default;
};

/// What is done to every element of the result before it is stored. Relu is
/// max(x, 0): NaN stays NaN, -0 becomes +0.
enum class Activation : uint8_t { None = 0, Relu = 1 };

/// A product or a convolution, as `kind` says, with its epilogue: an addend (c,
/// or the bias) and an activation. Which library takes which epilogue:
/// library_capability.h.
struct LibraryCall {
  enum class Kind : uint8_t { MatMul = 0, Conv = 1 };
  Kind kind = Kind::MatMul;
  MatMulCall matmul;
  ConvCall conv;
  Activation activation = Activation::None; // floats only
  bool operator==(const LibraryCall &) const = default;
};

/// Operands and the result.
size_t operandCount(const LibraryCall &call);

/// Element type of the operands and the result.
ElementType operandType(const LibraryCall &call);

/// Bytes that operand `index` (the result is the last) spans in its buffer,
/// counted from the buffer's begin. -1 if there is no such operand, the call
/// contradicts itself (ranks, negative extents or strides), or the size
/// overflows.
int64_t operandBytes(const LibraryCall &call, size_t index);

} // namespace lockstitch

#endif // LOCKSTITCH_RUNTIME_PROGRAM_LIBRARY_CALL_H
