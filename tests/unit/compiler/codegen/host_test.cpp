// Kernels of every shape, as host code, against the interpreter.
#include "execute.h"
#include "kernel_builder.h"

namespace lockstitch::testing {
namespace {

constexpr ElementType F32 = ElementType::F32;

/// out[r, c] = (a[r, c] + b[c]) * s[r] - 1
StageProgram elementwise(int64_t rows, int64_t columns) {
  KernelBuilder k("elementwise", rows);
  uint32_t a = k.input(F32, rows * columns), b = k.input(F32, columns), s = k.input(F32, rows),
           out = k.output(F32, rows * columns);
  k.stage(columns);
  StageValueId x = k.load(a, row() * num(columns) + col());
  StageValueId y = k.op(ScalarOpcode::Add, F32, {x, k.load(b, col())});
  StageValueId z = k.op(ScalarOpcode::Mul, F32, {y, k.load(s, row())});
  k.store(out, row() * num(columns) + col(), k.op(ScalarOpcode::Sub, F32, {z, k.constant(F32, 1)}));
  return k.program;
}

TEST(HostKernel, Elementwise) {
  for (int64_t columns : {1, 31, 33, 777})
    checkOnHost(elementwise(5, columns), {1, 4, 16});
}

} // namespace
} // namespace lockstitch::testing
