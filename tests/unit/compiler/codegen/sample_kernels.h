// Stage programs of every shape that the schedule makes, for the tests of both
// targets.
#ifndef LOCKSTITCH_TESTS_CODEGEN_SAMPLE_KERNELS_H
#define LOCKSTITCH_TESTS_CODEGEN_SAMPLE_KERNELS_H

#include "kernel_builder.h"

namespace lockstitch::testing {

/// out[r, c] = (a[r, c] + b[c]) * s[r] - 1
StageProgram elementwise(int64_t rows, int64_t columns);
/// Softmax along the row, three stages over one tile; `type` in memory, f32
/// inside.
StageProgram softmax(int64_t rows, int64_t columns,
                     ElementType type = ElementType::F32);
/// LayerNorm with sum and sum of squares in one stage, and the mean as a
/// second, per-row output.
StageProgram layerNorm(int64_t rows, int64_t columns,
                       ElementType type = ElementType::F32);
/// Index of the first maximum of the row: two accumulators, ties by index.
StageProgram argmax(int64_t rows, int64_t columns);
/// Mean and variance by Welford's method: three accumulators whose combination
/// is not commutative in rounding.
StageProgram welford(int64_t rows, int64_t columns);
/// Folds the row with `opcode` in `type`.
StageProgram reduceRow(ScalarOpcode opcode, ElementType type, int64_t rows,
                       int64_t columns, double init);
/// out[c] = sum over k of in[k, c]: a sequential loop under vectors.
StageProgram reduceColumns(int64_t trips, int64_t columns);
/// out[r, c] = table[ids[r], c]: a run-time index that all columns share.
StageProgram gatherRows(int64_t rows, int64_t columns, int64_t tableRows);
/// out[r, c] = table[r, ids[c]]: a run-time index per column.
StageProgram gatherColumns(int64_t rows, int64_t columns, int64_t tableColumns);
/// out = in with `before` and `after` columns of zeros around.
StageProgram pad(int64_t rows, int64_t columns, int64_t before, int64_t after);
/// out[r, :] = concat(a[r, :], b[r, :])
StageProgram concat(int64_t rows, int64_t first, int64_t second);
/// out[r, c] = in[c, r]
StageProgram transpose(int64_t rows, int64_t columns);
/// out[r, c] = in[r, c / group]: an element shared by a group of columns.
StageProgram repeat(int64_t rows, int64_t columns, int64_t group);
/// 3x3 maximum with a border, over an image of one row per r: nested loops with
/// guards.
StageProgram maxPool(int64_t height, int64_t width);
/// Position-dependent values: index arithmetic with divisions of possibly
/// negative numbers.
StageProgram positions(int64_t rows, int64_t columns);
/// out = mask ? x : -x, with bool in and out.
StageProgram masked(int64_t rows, int64_t columns);
/// One output per target type: in cast to it.
StageProgram castToAll(ElementType from, int64_t count);
/// One output per exact operation on `type`.
StageProgram everyOperation(ElementType type, int64_t count);
/// Two tiles of different types in two slots, and tiles that take over a slot.
StageProgram manyTiles(int64_t rows, int64_t columns);

/// A few sizes of all of the above that take vectors of up to 4 columns, for
/// sweeps.
std::vector<StageProgram> sampleKernels();

} // namespace lockstitch::testing

#endif // LOCKSTITCH_TESTS_CODEGEN_SAMPLE_KERNELS_H
