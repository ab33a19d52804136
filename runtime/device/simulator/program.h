//===- program.h - a kernel, decoded for execution --------------*- C++ -*-===//
//
// Registers have become slots: 32 lanes of 4 bytes (predicates: one word of 32
// bits) or of 8 bytes. Slots live in two banks: bank 0 is the warp's own
// register file, bank 1 holds what is equal for a whole block (constants,
// %ctaid and the like). A slot is a byte offset; its lowest bit is the bank.
//
// Narrow values are kept zero-extended in their 4-byte lanes.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/simulator/ast.h"
#include "runtime/device/simulator/counters.h"
#include "runtime/device/simulator/diagnostic.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lockstitch::simulator {

struct Op;
struct Warp;
using Handler = void (*)(const Op &, Warp &);

using Slot = uint32_t;
constexpr Slot NoSlot = ~0u;
/// Addresses in the parameter space: a kernel's own from 0, those of calls from
/// here.
constexpr uint32_t ThreadParamBase = 1u << 20;
constexpr uint32_t NoAccess = ~0u;
constexpr uint32_t LaneBytes32 = 128;
constexpr uint32_t LaneBytes64 = 256;

enum class Control : uint8_t {
  None,
  Branch,
  BranchTable,
  Call,
  Return,
  Exit,
  Barrier,    // bar.*, barrier.*
  Convergent, // *.sync with a membermask in slot c
  Trap
};

/// How strong a memory operation is, and who may observe it as such.
enum class Scope : uint8_t { Weak, Block, Device };

struct MemoryAccess {
  StateSpace space = StateSpace::Generic;
  uint8_t elementBytes = 4;
  uint8_t count = 1;
  bool isSigned = false;
  bool isLoad = true;
  bool nonCoherent = false;
  bool acquire = false;
  bool release = false;
  Scope scope = Scope::Weak;
  bool wideAddress = true; // the base register has 64 bits
  bool hasBase = false;    // else the address is imm alone
  // Values, in order; NoSlot for `_`. Atomics: four results, four operands.
  Slot slots[8] = {NoSlot, NoSlot, NoSlot, NoSlot,
                   NoSlot, NoSlot, NoSlot, NoSlot};
  bool wide[8] = {}; // the slot has 8-byte lanes
  uint8_t registerBits[8] = {};
  uint32_t index = 0;     // dense number among the kernel's accesses
  uint64_t arguments = 0; // bit i: the address may stem from parameter i
};

struct Op {
  Handler run = nullptr;
  Slot d = NoSlot, a = NoSlot, b = NoSlot, c = NoSlot;
  Slot e = NoSlot, f = NoSlot; // second destination; fourth source
  Slot guard = NoSlot;
  bool guardNegated = false;
  bool isLeader = false; // starts a basic block
  Control control = Control::None;
  InstructionClass kind = InstructionClass::Integer;
  uint8_t mode = 0; // handler's own
  bool aligned = false;
  uint16_t flags = 0;
  uint32_t target = 0; // of Branch and Call: an op; of BranchTable: a table
  uint32_t rank = 0;   // execution priority, smaller first
  uint32_t access = NoAccess;           // index into Program::accesses
  const MemoryAccess *memory = nullptr; // the same, once decoded
  uint32_t list = NoAccess;             // index into Program::lists
  uint32_t source = 0;                  // index into Program::places
  int64_t imm = 0;
};

/// Where an op came from.
struct Place {
  uint32_t line = 0;
  uint32_t sourceFile = 0;
  uint32_t sourceLine = 0;
  std::string_view opcode;
};

struct UniformConstant {
  Slot slot;
  bool wide;
  uint64_t bits;
};

/// Special registers that are equal for a block and change between blocks or
/// launches.
enum class BlockRegister : uint8_t {
  CtaIdX,
  CtaIdY,
  CtaIdZ,
  NtidX,
  NtidY,
  NtidZ,
  NctaIdX,
  NctaIdY,
  NctaIdZ,
  NumWarps,
  SmId,
  NumSms,
  GridId,
  DynamicShared,
  TotalShared,
  Environment1, // high half of the grid workspace's address
  Environment2, // low half
  Zero,
  One
};
struct BlockRegisterSlot {
  BlockRegister which;
  Slot slot;
  bool wide;
};
/// Special registers of a thread; same in every block.
enum class ThreadRegister : uint8_t {
  TidX,
  TidY,
  TidZ,
  LaneId,
  WarpId,
  MaskEq,
  MaskLe,
  MaskLt,
  MaskGe,
  MaskGt
};
struct ThreadRegisterSlot {
  ThreadRegister which;
  Slot slot;
};

/// The address of a module variable, filled in at launch.
struct SymbolConstant {
  Slot slot;
  bool wide;
  std::string name;
  int64_t offset;
};

struct Parameter {
  std::string name;
  uint32_t offset = 0;
  uint32_t bytes = 0;
};

/// A copy between per-thread parameter areas around a call.
struct ParameterCopy {
  uint32_t from, to, bytes;
};
struct CallInfo {
  std::vector<ParameterCopy> before;
  std::vector<ParameterCopy> after;
  std::string_view callee;
};

struct Program {
  std::string name;
  std::vector<Op> ops;
  std::vector<Place> places;
  std::vector<MemoryAccess> accesses;
  std::vector<std::vector<uint32_t>> branchTables;
  std::vector<CallInfo> calls;
  std::vector<std::vector<Slot>> lists; // of matrix ops: D, A, B, C in order
  std::vector<UniformConstant> constants;
  std::vector<BlockRegisterSlot> blockRegisters;
  std::vector<ThreadRegisterSlot> threadRegisters;
  std::vector<SymbolConstant> symbols;
  std::vector<Parameter> parameters;
  std::vector<std::pair<Slot, uint32_t>> zeroAtEntry; // slot, bytes
  std::vector<Slot> wideSlots; // of bank 0, with 8-byte lanes, sorted
  uint32_t warpBytes = 0;      // bank 0
  uint32_t uniformBytes = 0;   // bank 1
  uint32_t parameterBytes = 0;
  uint32_t staticShared = 0;
  uint32_t dynamicSharedAlign = 1;
  bool usesDynamicShared = false;
  uint32_t localBytes = 0;       // per thread
  uint32_t threadParamBytes = 0; // per thread: .param space of calls
  uint32_t maxThreads[3] = {0, 0, 0};
  uint32_t requiredThreads[3] = {0, 0, 0};
  uint32_t registerEstimate = 0;  // 32-bit registers live at once
  uint32_t loadBytesInFlight = 0; // per thread, independent global loads

  bool usesGlobalAtomics = false; // or volatile and other strong accesses
  bool mayOrder = false;          // fences, acquire or release: order by flags
  bool hasPartialBarriers = false;
  bool usesAsyncCopies = false;
  std::string_view target;
};

} // namespace lockstitch::simulator
