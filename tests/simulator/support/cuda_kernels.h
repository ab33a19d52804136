//===- cuda_kernels.h - launches of cuda/kernels.cu -------------*- C++ -*-===//
//
// Every kernel of kernels.cu with data, and the values that C++ gives for them,
// computed in double precision where the kernel's are floating.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tests/simulator/support/kernel_setup.h"

namespace lockstitch::simtest {

struct CudaKernel {
  Setup setup;
  std::vector<std::vector<uint8_t>> expected; // outputs, in order
};

std::vector<CudaKernel> cudaKernels();

} // namespace lockstitch::simtest
