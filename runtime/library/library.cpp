#include "runtime/library/library.h"
#include "runtime/library/implementation.h"
#include "runtime/library/onednn.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

namespace lockstitch {
namespace {

/// Whether a product of extents stays far below what would overflow in sizes of
/// scratch memory.
bool isReasonable(std::initializer_list<int64_t> extents) {
  int64_t product = 1;
  for (int64_t extent : extents)
    if (extent != 0 && (__builtin_mul_overflow(product, extent, &product) ||
                        product > (int64_t{1} << 46)))
      return false;
  return true;
}

std::optional<std::string> refuseMatMul(const LibraryCall &call) {
  const MatMulCall &m = call.matmul;
  if (m.type == ElementType::Bool)
    return "a product of bool matrices is not a library call";
  for (size_t i = 0; i < operandCount(call); ++i)
    if (operandBytes(call, i) < 0)
      return "the product's sizes contradict each other or overflow (operand " +
             std::to_string(i) + ")";
  bool empty = operandBytes(call, operandCount(call) - 1) == 0;
  for (size_t i = 0; i < m.batch.size() + 2 && !empty; ++i) {
    int64_t extent = i < m.batch.size()    ? m.batch[i]
                     : i == m.batch.size() ? m.m
                                           : m.n;
    if (extent > 1 && m.result.strides[i] == 0)
      return "the product's result has a stride of 0";
  }
  int64_t batches = 1;
  for (int64_t extent : m.batch)
    batches = isReasonable({batches, extent}) ? batches * extent : INT64_MAX;
  if (m.k < 0 || !isReasonable({batches, m.m, m.k}) ||
      !isReasonable({batches, m.k, m.n}) || !isReasonable({batches, m.m, m.n}))
    return "the product is too large";
  if (isInteger(m.type))
    for (float factor : {m.alpha, m.beta})
      if (!(std::fabs(factor) < 0x1p31f) || factor != std::trunc(factor))
        return "a product of integers with a factor that is not an integer (" +
               std::to_string(factor) + ")";
  return std::nullopt;
}

std::optional<std::string> refuseConv(const LibraryCall &call) {
  const ConvCall &c = call.conv;
  if (c.type == ElementType::Bool)
    return "a convolution of bool tensors is not a library call";
  size_t rank = c.inputSpatial.size();
  if (rank < 1 || rank > 3)
    return "a convolution of " + std::to_string(rank) +
           " spatial dimensions (1 to 3 are possible)";
  for (const std::vector<int64_t> *list :
       {&c.kernel, &c.outputSpatial, &c.strides, &c.dilations, &c.padsBegin,
        &c.padsEnd})
    if (list->size() != rank)
      return "the convolution's attributes have different lengths";
  for (size_t i = 0; i < operandCount(call); ++i)
    if (operandBytes(call, i) < 0)
      return "the convolution's sizes contradict each other or overflow "
             "(operand " +
             std::to_string(i) + ")";
  int64_t reach = 1; // input positions with their pads
  constexpr int64_t most = int64_t{1}
                           << 40; // far beyond any tensor, small enough that
                                  // products of two cannot overflow
  for (size_t i = 0; i < rank; ++i) {
    if (c.strides[i] < 1 || c.strides[i] > most || c.dilations[i] < 1 ||
        c.dilations[i] > most || c.padsBegin[i] < 0 || c.padsBegin[i] > most ||
        c.padsEnd[i] < 0 || c.padsEnd[i] > most || c.kernel[i] < 1)
      return "a convolution's strides, dilations and kernel extents must be "
             "positive, its pads not negative";
    int64_t span, extent,
        padded = c.inputSpatial[i] + c.padsBegin[i] + c.padsEnd[i];
    if (__builtin_mul_overflow(c.kernel[i] - 1, c.dilations[i], &span) ||
        (c.outputSpatial[i] > 0 &&
         (padded < span + 1 ||
          (c.outputSpatial[i] - 1) > (padded - span - 1) / c.strides[i])))
      return "the convolution's output is larger than its input allows "
             "(dimension " +
             std::to_string(i) + ")";
    if (__builtin_mul_overflow(c.outputSpatial[i], c.strides[i], &extent) ||
        __builtin_add_overflow(extent, span, &extent) ||
        !isReasonable({reach, extent}))
      return "the convolution is too large";
    reach *= std::max<int64_t>(extent, 1);
  }
  return std::nullopt;
}

} // namespace

PreparedCall::~PreparedCall() = default;

std::optional<std::string> libraryRefusal(const LibraryCall &call) {
  if (call.activation != Activation::None && !isFloat(operandType(call)))
    return "an activation of integers is not part of a library call";
  return call.kind == LibraryCall::Kind::MatMul ? refuseMatMul(call)
                                                : refuseConv(call);
}

std::optional<std::string> libraryRefusal(const LibraryCall &call,
                                          LibraryOptions::Backend backend) {
  if (std::optional<std::string> reason = libraryRefusal(call))
    return reason;
  if (backend != LibraryOptions::Backend::OneDnn)
    return std::nullopt;
  if (!library::haveOneDnn())
    return "onednn was not found when this was built";
  if (computeType(operandType(call)) != ElementType::F32)
    return "onednn is used for f32, f16 and bf16 only";
  return std::nullopt;
}

Result<std::shared_ptr<const PreparedCall>>
prepareLibraryCall(const LibraryCall &call, std::string_view where,
                   const LibraryOptions &options) {
  if (std::optional<std::string> reason = libraryRefusal(call, options.backend))
    return Error::refused("library call " + std::string(where), *reason);
  return call.kind == LibraryCall::Kind::MatMul
             ? library::prepareMatMul(call.matmul, call.activation, options)
             : library::prepareConv(call.conv, call.activation, options);
}

namespace library {

bool preferOneDnn(int64_t m, int64_t n) { return m > 1 && n > 1; }

} // namespace library
} // namespace lockstitch
