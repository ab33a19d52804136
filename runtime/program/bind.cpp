// Every dimension of an input is an equation: expression = extent. Known values
// are put in, whatever is linear in one symbol then is solved, until nothing
// changes. What is left is checked, never guessed.
#include "runtime/program/bind.h"

#include <algorithm>

namespace lockstitch {
namespace {

struct Equation {
  Dim left, right;
};

std::string extentsText(const std::vector<int64_t> &shape) {
  std::string text;
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? "x" : "") + std::to_string(shape[i]);
  return "[" + text + "]";
}

/// Solves what can be solved; by[i] becomes a number.
void solve(const std::vector<Equation> &equations, std::vector<Dim> &by) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const Equation &equation : equations) {
      Dim difference =
          substitute(equation.left, by) - substitute(equation.right, by);
      std::optional<LinearDim> linear = asLinear(difference);
      if (!linear || linear->offset == INT64_MIN ||
          -linear->offset % linear->scale != 0)
        continue;
      by[linear->symbol] = -linear->offset / linear->scale;
      changed = true;
    }
  }
}

} // namespace

bool hasOpenSizes(const Program &program) {
  bool open = false;
  visitSizes(program, [&](const Dim &size) { open |= !size.isConstant(); });
  return open;
}

Program resolveSymbols(Program program) {
  visitSizes(program, [&](Dim &size) {
    if (!size.isConstant())
      size = program.symbols.resolve(size);
  });
  return program;
}

std::string describe(const TensorInfo &info, const SymbolTable &symbols) {
  bool open = std::any_of(info.shape.begin(), info.shape.end(),
                          [](const Dim &dim) { return !dim.isConstant(); });
  std::string text = info.name + " " + std::string(name(info.type)) + "[";
  for (size_t i = 0; i < info.shape.size(); ++i)
    text += (i == 0 ? ""
             : open ? " x "
                    : "x") +
            toString(info.shape[i], &symbols);
  return text + "]";
}

std::string describeAll(const std::vector<TensorInfo> &infos,
                        const SymbolTable &symbols) {
  std::string text;
  for (const TensorInfo &info : infos)
    text += (text.empty() ? "" : ", ") + describe(info, symbols);
  std::string rules = symbols.rules();
  return text.empty()    ? "none"
         : rules.empty() ? text
                         : text + " where " + rules;
}

Result<SymbolValues>
bindSymbols(const Program &program,
            std::span<const std::vector<int64_t>> inputShapes) {
  const SymbolTable &symbols = program.symbols;
  auto refuse = [&](std::string where, std::string reason) {
    return Error::refused(std::move(where), std::move(reason),
                          "the program's inputs are: " +
                              describeAll(program.inputs, symbols));
  };
  if (inputShapes.size() != program.inputs.size())
    return refuse("inputs", "the program has " +
                                std::to_string(program.inputs.size()) +
                                ", got " + std::to_string(inputShapes.size()));
  std::vector<Dim> by(symbols.size());
  for (uint32_t i = 0; i < symbols.size(); ++i)
    by[i] = symbols[i].value ? Dim(*symbols[i].value) : Dim::symbol(i);
  std::vector<Equation> equations;
  for (size_t i = 0; i < inputShapes.size(); ++i) {
    const TensorInfo &info = program.inputs[i];
    if (info.shape.size() != inputShapes[i].size())
      return refuse("input '" + info.name + "'",
                    "the program takes " + describe(info, symbols) + ", got " +
                        extentsText(inputShapes[i]));
    for (size_t d = 0; d < info.shape.size(); ++d)
      equations.push_back({info.shape[d], inputShapes[i][d]});
  }
  for (const SymbolTable::Equality &equality : symbols.equalities())
    equations.push_back({Dim::symbol(equality.symbol), equality.size});
  solve(equations, by);

  SymbolValues values(symbols.size());
  for (uint32_t i = 0; i < symbols.size(); ++i) {
    if (!by[i].isConstant()) {
      // A shape that fits nothing says more than the symbol that it leaves.
      for (size_t j = 0; j < inputShapes.size(); ++j)
        for (size_t d = 0; d < inputShapes[j].size(); ++d)
          if (const Dim &size = program.inputs[j].shape[d];
              asLinear(size) && asLinear(size)->symbol == i)
            return refuse("input '" + program.inputs[j].name + "'",
                          "no '" + symbols[i].name + "' makes " +
                              toString(size, &symbols) + " = " +
                              std::to_string(inputShapes[j][d]));
      return refuse("symbol '" + symbols[i].name + "'",
                    "has no value: the shapes of the inputs do not give one");
    }
    values[i] = by[i].value();
  }
  for (size_t i = 0; i < inputShapes.size(); ++i)
    for (size_t d = 0; d < inputShapes[i].size(); ++d)
      if (evaluate(program.inputs[i].shape[d], values) != inputShapes[i][d]) {
        std::string given;
        for (uint32_t id : program.inputs[i].shape[d].symbols())
          given += (given.empty() ? ", where " : ", ") +
                   toString(Dim::symbol(id), &symbols) + " = " +
                   std::to_string(values[id]);
        return refuse("input '" + program.inputs[i].name + "'",
                      "the program takes " +
                          describe(program.inputs[i], symbols) + given +
                          ", got " + extentsText(inputShapes[i]));
      }
  if (Status status = symbols.check(values); !status.ok())
    return refuse(status.error().messages[0].where,
                  status.error().messages[0].reason);
  return values;
}

Result<Program> instantiate(const Program &program, const SymbolValues &values,
                            const TargetProgram *only) {
  Program made;
  made.model = program.model;
  made.compilerVersion = program.compilerVersion;
  made.optionsHash = program.optionsHash;
  made.planHash = program.planHash;
  made.explorer = program.explorer;
  made.totalNodes = program.totalNodes;
  made.inputs = program.inputs;
  made.outputs = program.outputs;
  made.constantInfos = program.constantInfos;
  made.constants = program.constants;
  if (only)
    made.targets = {*only};
  else
    made.targets = program.targets;
  std::string problem;
  visitSizes(made, [&](Dim &size) {
    if (size.isConstant())
      return;
    std::optional<int64_t> value = evaluate(size, values);
    if (!value && problem.empty())
      problem = toString(size, &program.symbols);
    size = value.value_or(0);
  });
  if (!problem.empty())
    return Error::refused("size " + problem,
                          "does not fit in 64 bits for these inputs",
                          "give smaller inputs");
  return made;
}

} // namespace lockstitch
