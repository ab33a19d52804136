//===- mutate.h - small faults in PTX texts ---------------------*- C++ -*-===//
#pragma once

#include "tests/simulator/support/kernel_setup.h"

namespace lockstitch::simtest {

struct Mutant {
  std::string kind; // barrier, index, predicate, shrink
  unsigned number;  // among its kind
  std::string what; // the line as it was, or what was shrunk
  std::string text; // the module
  Options options;  // for allocations that shrink
};

/// The module without its other kernels.
std::string extractKernel(const std::string &text, const std::string &kernel);

/// Every mutant, in order of the text: each barrier, fence and wait deleted;
/// each address of ld, st, atom, red and cp.async moved by the size of its
/// access; each guard dropped; each array of shared memory, the dynamic shared
/// memory and each buffer shortened by one element.
std::vector<Mutant> mutantsOf(const std::string &text, const Setup &setup);

} // namespace lockstitch::simtest
