#include "runtime/program/library_call.h"

namespace lockstitch {
namespace {

/// sum + a * b, or -1 when something is negative or overflows.
int64_t addProduct(int64_t sum, int64_t a, int64_t b) {
  int64_t product, result;
  if (sum < 0 || a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product) ||
      __builtin_add_overflow(sum, product, &result))
    return -1;
  return result;
}

int64_t product(int64_t first, const std::vector<int64_t> &rest) {
  int64_t result = first;
  for (int64_t extent : rest)
    result = addProduct(0, result, extent);
  return result;
}

/// One past the last element that a view reaches; 0 when it has none.
int64_t extentOf(const MatMulCall &call, const StridedView &view, int64_t rows,
                 int64_t columns) {
  std::vector<int64_t> shape = call.batch;
  shape.push_back(rows);
  shape.push_back(columns);
  if (view.strides.size() != shape.size() || view.offset < 0)
    return -1;
  int64_t last = view.offset;
  bool empty = false;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0 || view.strides[i] < 0)
      return -1;
    empty |= shape[i] == 0;
    if (shape[i] > 0)
      last = addProduct(last, shape[i] - 1, view.strides[i]);
  }
  return empty ? 0 : addProduct(last, 1, 1);
}

int64_t convElements(const ConvCall &call, size_t index) {
  size_t rank = call.inputSpatial.size();
  if (call.batch < 0 || call.inputChannels < 0 || call.outputChannels < 0 ||
      call.group <= 0 || call.inputChannels % call.group ||
      call.outputChannels % call.group || call.kernel.size() != rank ||
      call.outputSpatial.size() != rank)
    return -1;
  if (index == 2 && call.hasBias)
    return call.outputChannels;
  switch (index) {
  case 0:
    return product(addProduct(0, call.batch, call.inputChannels),
                   call.inputSpatial);
  case 1:
    return product(
        addProduct(0, call.outputChannels, call.inputChannels / call.group),
        call.kernel);
  }
  return product(addProduct(0, call.batch, call.outputChannels),
                 call.outputSpatial);
}

} // namespace

size_t operandCount(const LibraryCall &call) {
  bool third = call.kind == LibraryCall::Kind::MatMul ? call.matmul.hasC
                                                      : call.conv.hasBias;
  return third ? 4 : 3;
}

ElementType operandType(const LibraryCall &call) {
  return call.kind == LibraryCall::Kind::MatMul ? call.matmul.type
                                                : call.conv.type;
}

int64_t operandBytes(const LibraryCall &call, size_t index) {
  if (index >= operandCount(call))
    return -1;
  int64_t elements;
  if (call.kind == LibraryCall::Kind::Conv) {
    elements = convElements(call.conv, index);
  } else {
    const MatMulCall &m = call.matmul;
    if (index == 0)
      elements = extentOf(m, m.a, m.m, m.k);
    else if (index == 1)
      elements = extentOf(m, m.b, m.k, m.n);
    else if (index == 2 && m.hasC)
      elements = extentOf(m, m.c, m.m, m.n);
    else
      elements = extentOf(m, m.result, m.m, m.n);
  }
  return addProduct(0, elements,
                    static_cast<int64_t>(byteSize(operandType(call))));
}

} // namespace lockstitch
