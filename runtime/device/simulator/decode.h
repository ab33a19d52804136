//===- decode.h - one kernel of a module -> Program -------------*- C++ -*-===//
//
// A kernel is decoded together with the functions it calls. Recursion is
// refused; so every function has its own registers, local variables and
// parameter area at fixed places, and a call is a jump.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/simulator/opcode_table.h"
#include "runtime/device/simulator/program.h"

#include <map>
#include <unordered_map>

namespace lockstitch::simulator {

class Decoder {
public:
  Decoder(const ParsedModule &module, Diagnostic &diagnostic)
      : M(module), Error(diagnostic) {}
  std::unique_ptr<Program> run(const std::string &kernel);

private:
  /// Modifiers of the instruction that is being decoded, split at the dots.
  using Modifiers = std::vector<std::string_view>;
  struct FunctionState {
    const Function *function = nullptr;
    uint32_t firstOp = 0;
    std::vector<Slot> registers;            // by AST index
    std::vector<uint32_t> variableOffsets;  // local, param and shared ones
    std::vector<uint32_t> parameterOffsets; // in the thread parameter area
    std::vector<uint32_t> returnOffsets;
    bool isKernel = false;
    bool done = false;
    uint32_t depth = 0;
  };
  struct Fixup {
    uint32_t op;
    uint32_t function; // of a call; else of the label
    std::string_view label;
    uint32_t scope;
    uint32_t line;
    bool isCall;
  };
  struct Address {
    bool known = false; // a symbol or number; no base register
    StateSpace space = StateSpace::Generic;
    bool isKernelParameter = false;
    Slot base = NoSlot;
    bool wide = true;
    int64_t offset = 0;
  };

  // decode.cpp: functions, symbols, operands
  bool fail(const std::string &message, uint32_t line = 0);
  bool unknown() {
    return fail("unknown or unsupported instruction '" +
                std::string(Now->opcode) + "'");
  }
  bool badOperands() {
    return fail("wrong operands for '" + std::string(Now->opcode) + "'");
  }
  bool collect(uint32_t function, uint32_t depth);
  bool layout();
  bool decodeFunction(uint32_t index);
  bool resolve();
  bool findLabel(const Function &f, std::string_view name, uint32_t scope,
                 uint32_t &index) const;
  Slot allocate(bool wide);
  Slot constant(uint64_t bits, bool wide);
  Slot blockRegister(BlockRegister which, bool wide);
  Slot threadRegister(ThreadRegister which);
  bool specialRegister(std::string_view name, bool wide, Slot &slot);
  bool symbol(std::string_view name, int64_t offset, bool wide, Slot &slot,
              StateSpace *space = nullptr);
  const Variable *findVariable(std::string_view name, uint32_t scope,
                               uint32_t &offset, bool &isKernelParameter) const;
  bool registerSlot(const Operand &o, Slot &slot, ScalarType &type);
  bool destination(const Operand &o, OperandType type, Slot &slot);
  bool source(const Operand &o, OperandType type, Slot &slot);
  bool predicateSource(const Operand &o, Slot &slot, bool &negated);
  bool address(const Operand &o, Address &result);
  Op &emit(Handler handler, InstructionClass kind);
  bool has(std::string_view modifier) const;
  ScalarType typeAt(size_t fromEnd) const;
  const Operand &operand(size_t i) const { return Now->operands[i]; }
  size_t operands() const { return Now->operands.size(); }
  MemoryAccess &addAccess(Op &op);

  // decode_basic.cpp: arithmetic and moves
  bool instruction();
  bool tableEntry();
  bool move();
  bool convert();
  bool compare();
  bool lop3();
  bool cvta();
  bool isSpace();
  bool nothing();
  bool createPolicy();
  bool matrix();
  // decode_memory.cpp
  bool memoryModifiers(MemoryAccess &access);
  bool load();
  bool store();
  bool atomic();
  bool asyncCopy();
  bool loadMatrix();
  bool parameterAccess(bool isLoad, const Address &where,
                       const MemoryAccess &shape);
  bool accessValues(const Operand &o, MemoryAccess &access);
  // decode_control.cpp
  bool branch();
  bool branchIndexed();
  bool call();
  bool leave();
  bool trap();
  bool barrier();
  bool fence();
  bool shuffle();
  bool vote();
  bool match();
  bool redux();
  bool elect();
  bool activeMask();

  const ParsedModule &M;
  Diagnostic &Error;
  std::unique_ptr<Program> P;
  std::vector<FunctionState> States;              // in order of discovery
  std::unordered_map<uint32_t, uint32_t> StateOf; // AST function -> state
  std::vector<uint32_t> Path;                     // of collect()
  FunctionState *Here = nullptr;
  const Instruction *Now = nullptr;
  Modifiers Parts;
  std::vector<uint32_t> OpOf; // instruction -> op, of the current function
  std::vector<std::vector<uint32_t>> OpsOf; // per state
  std::vector<Fixup> Fixups;
  std::map<std::pair<uint64_t, bool>, Slot> Constants;
  std::map<std::pair<uint8_t, bool>, Slot> BlockSlots;
  std::map<uint8_t, Slot> ThreadSlots;
  std::map<std::tuple<std::string, int64_t, bool>, Slot> SymbolSlots;
  std::unordered_map<std::string_view, uint32_t> SharedOffsets; // module level
  Slot Scratch[2] = {NoSlot, NoSlot}; // where `_` goes
};

/// Ranks, basic blocks, liveness and provenance (analysis.cpp).
void analyse(Program &program,
             const std::vector<std::pair<uint32_t, uint32_t>> &functions);

} // namespace lockstitch::simulator
