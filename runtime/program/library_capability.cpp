// Sources: cuBLASLt's documentation (cublasLtMatmul: D = alpha A B + beta C, C with a layout of its own; the epilogues BIAS,
// RELU, RELU_BIAS, GELU, which is the tanh form; a bias is one value per row of the column-major D, a column of ours) and
// cuDNN's (convolution + bias + activation as one graph).
#include "runtime/program/library_capability.h"

namespace lockstitch {
namespace {

bool isNarrowFloat(ElementType type) {
  return type == ElementType::F16 || type == ElementType::BF16;
}

/// One value per column, or a matrix in which columns are neighbours.
bool cublasLtTakes(const MatMulCall &call) {
  size_t row = call.batch.size(), column = row + 1;
  if (call.c.strides[column] != 1 && call.n != 1)
    return false;
  bool isBias = call.m == 1 || call.c.strides[row] == 0;
  for (size_t i = 0; i < row; ++i)
    isBias &= call.c.strides[i] == 0 || call.batch[i] == 1;
  return isBias || call.m == 1 || call.c.strides[row] >= call.n;
}

} // namespace

LibraryFamily libraryFamilyOf(std::string_view target) {
  return target.starts_with("sm_") ? LibraryFamily::Cuda : LibraryFamily::Host;
}

std::optional<std::string> callRefusal(const LibraryCall &call,
                                       LibraryFamily family) {
  ElementType type = operandType(call);
  if (!isFloat(type) && (family == LibraryFamily::Cuda || !isInteger(type)))
    return "no library multiplies " + std::string(name(type));
  return std::nullopt;
}

std::optional<std::string> epilogueRefusal(const LibraryCall &call,
                                           LibraryFamily family) {
  bool isProduct = call.kind == LibraryCall::Kind::MatMul;
  bool hasAddend = isProduct ? call.matmul.hasC : call.conv.hasBias;
  ElementType type = operandType(call);
  // A tensor that is declared f16 or bf16 is rounded where it is defined; libraries add before they round.
  if (hasAddend && isNarrowFloat(type))
    return "the library would add before the product is rounded to " +
           std::string(name(type));
  if (family == LibraryFamily::Host)
    return std::nullopt;
  if (call.activation != Activation::None)
    return "the library's max(x, 0) does not promise to keep NaN";
  if (!hasAddend)
    return std::nullopt;
  if (isProduct && !cublasLtTakes(call.matmul))
    return "the library adds one value per column, or a matrix whose rows do "
           "not overlap";
  return std::nullopt;
}

} // namespace lockstitch
