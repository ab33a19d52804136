// Whole graphs as one kernel.
#ifndef LOCKSTITCH_TESTS_UNIT_COMPILER_SCHEDULE_KERNEL_SPECS_H
#define LOCKSTITCH_TESTS_UNIT_COMPILER_SCHEDULE_KERNEL_SPECS_H

#include "compiler/schedule/build_stages.h"
#include "tests/unit/compiler/graph_maker.h"

namespace lockstitch::testing {

/// The kernel of all primitives of `graph` (storage roots computed).
inline KernelSpec everything(const PrimitiveGraph &graph) {
  KernelSpec spec{"k", {}, {}};
  for (PrimitiveId id = 0; id < graph.primitives.size(); ++id)
    spec.members.push_back(id);
  for (ValueId output : graph.outputs)
    spec.outputs.push_back(storageRoot(graph, output));
  return spec;
}

/// A softmax along the columns.
inline PrimitiveGraph softmaxGraph(int64_t rows, int64_t columns) {
  GraphMaker maker;
  maker.output(maker.softmax(maker.input({rows, columns}), 1));
  computeStorageRoots(maker.graph);
  return std::move(maker.graph);
}

} // namespace lockstitch::testing

#endif // LOCKSTITCH_TESTS_UNIT_COMPILER_SCHEDULE_KERNEL_SPECS_H
