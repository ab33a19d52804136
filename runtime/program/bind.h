// Sizes of a program that are open, and their values.
//
// A program may leave sizes open: shapes, offsets, rows, grids and memories are
// then expressions over Program::symbols. The shapes of the inputs give the
// symbols their values (bindSymbols), and with these the program becomes one of
// constant sizes (instantiate), which is validated and run like any other. The
// code is the same for all of them.
#ifndef LOCKSTITCH_RUNTIME_PROGRAM_BIND_H
#define LOCKSTITCH_RUNTIME_PROGRAM_BIND_H

#include "runtime/program/program.h"
#include "runtime/program/status.h"

#include <span>
#include <vector>

namespace lockstitch {

/// Of a program: expanding equalities is not made for more.
inline constexpr int kMostSymbols = 256;

/// Beside Program::symbols.
using SymbolValues = std::vector<int64_t>;

/// Calls visit(size) for every size of a target (a `TargetProgram` or a const
/// one).
template <typename Target, typename Visit>
void visitTargetSizes(Target &target, Visit visit) {
  auto visitSteps = [&](auto &steps, auto &self) -> void {
    for (auto &step : steps) {
      for (auto &ref : step.args) {
        visit(ref.offset);
        visit(ref.bytes);
      }
      self(step.steps, self);
    }
  };
  for (auto &kernel : target.kernels) {
    visit(kernel.rows);
    visit(kernel.scratchBytes);
    visit(kernel.sharedBytes);
    for (auto &extent : kernel.grid)
      visit(extent);
    for (auto &argument : kernel.arguments)
      visit(argument.elements);
  }
  visitSteps(target.prologue, visitSteps);
  visitSteps(target.steps, visitSteps);
  for (auto &ref : target.outputs) {
    visit(ref.offset);
    visit(ref.bytes);
  }
  visit(target.arenaBytes);
  visit(target.workspaceBytes);
}

/// Calls visit(size) for every size of a program.
template <typename AnyProgram, typename Visit>
void visitSizes(AnyProgram &program, Visit visit) {
  for (auto *infos :
       {&program.inputs, &program.outputs, &program.constantInfos})
    for (auto &info : *infos)
      for (auto &extent : info.shape)
        visit(extent);
  for (auto &target : program.targets)
    visitTargetSizes(target, visit);
}

/// Whether a size of the program is not a number.
bool hasOpenSizes(const Program &program);

/// The program with every symbol whose value the table knows replaced by it.
Program resolveSymbols(Program program);

/// The values that inputs of these shapes, in the order of Program::inputs,
/// give the symbols; dimensions that are linear in one symbol are solved for
/// it, declared equalities give others. Errors (refused), with the shapes that
/// the program takes: another number of inputs, a rank or extent that does not
/// fit, a range, divisor or equality that does not hold, a symbol that no shape
/// gives a value.
Result<SymbolValues>
bindSymbols(const Program &program,
            std::span<const std::vector<int64_t>> inputShapes);

/// The program of constant sizes: all targets, or only one of the program's.
/// Errors (refused): a size that leaves 64 bits.
Result<Program> instantiate(const Program &program, const SymbolValues &values,
                            const TargetProgram *only = nullptr);

/// "x f32[2x3]"; "x f32[n x 16]" with the names of open sizes; "x f32[]" for a
/// scalar.
std::string describe(const TensorInfo &info, const SymbolTable &symbols);

/// All of them and the rules of the symbols: "x f32[n x 16] where 1 <= n <=
/// 1024".
std::string describeAll(const std::vector<TensorInfo> &infos,
                        const SymbolTable &symbols);

} // namespace lockstitch

#endif // LOCKSTITCH_RUNTIME_PROGRAM_BIND_H
