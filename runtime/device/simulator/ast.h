//===- ast.h - what a PTX text says, before it means anything ---*- C++ -*-===//
//
// The parser turns PTX text into these structures and checks nothing but
// grammar: types, spellings and symbols are resolved by the decoder, kernel by
// kernel, so that a module with one exotic kernel still runs its other ones.
// All string_views point into the module's own copy of the text.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace lockstitch::simulator {

enum class StateSpace : uint8_t {
  Generic,
  Global,
  Shared,
  Local,
  Const,
  Param,
  Register
};

/// Fundamental types. Untyped (B), unsigned (U), signed (S) and floating types
/// are told apart only where an instruction's meaning depends on it.
enum class ScalarType : uint8_t {
  None,
  Pred,
  B8,
  B16,
  B32,
  B64,
  B128,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  F16,
  F16x2,
  BF16,
  BF16x2,
  F32,
  F32x2,
  TF32,
  F64
};

/// Bytes of a value of this type in memory; 0 for None and Pred.
unsigned byteSize(ScalarType type);
/// `b32` -> B32; None for anything that is not a type.
ScalarType scalarTypeOf(std::string_view name);

struct Operand {
  enum class Kind : uint8_t {
    Register, // index into Function::registers
    Name,     // symbol, label, function or special register; may have offset
    Integer,
    Float32,
    Float64,
    Address, // elements[0] is the base (Register, Name or Integer) + offset
    Vector,  // { a, b, ... }
    List,    // ( a, b, ... ) of a call
    Sink     // _
  };
  Kind kind = Kind::Sink;
  bool negated = false; // !p
  bool minus = false;   // -%r is not PTX, but -symbol in initialisers is
  uint32_t reg = 0;
  std::string_view name;
  uint64_t bits = 0;  // Integer (two's complement) or the float's bits
  int64_t offset = 0; // of Name and Address
  std::vector<Operand> elements;
  std::vector<Operand> second; // the p of `d|p`: zero or one element
};

struct Instruction {
  std::string_view opcode; // as written, with every modifier
  std::vector<Operand> operands;
  uint32_t line = 0;
  uint32_t sourceFile = 0; // of the `.loc` in force; 0: none
  uint32_t sourceLine = 0;
  uint32_t scope = 0;
  bool hasGuard = false;
  Operand guard;
};

struct Variable {
  struct Fixup { // an address inside an initialiser
    uint64_t offset;
    std::string_view symbol;
    int64_t addend;
    unsigned bytes;
  };
  std::string_view name;
  StateSpace space = StateSpace::Global;
  ScalarType type = ScalarType::None;
  uint32_t align = 1;
  uint64_t bytes = 0;
  bool isExtern = false;
  bool isUnsized = false; // `.extern .shared .b8 x[];`
  bool isInitialised = false;
  std::vector<uint8_t> data; // initialiser, may be shorter than bytes
  std::vector<Fixup> fixups;
  uint32_t line = 0;
  uint32_t scope = 0;
};

struct Register {
  std::string_view name;
  ScalarType type = ScalarType::None;
};

struct Label {
  std::string_view name;
  uint32_t scope;
  uint32_t index; // of the instruction that follows
};

struct BranchTable { // `name: .branchtargets a, b;`
  std::string_view name;
  std::vector<std::string_view> targets;
  uint32_t scope;
};

struct Function {
  std::string_view name;
  bool isEntry = false;
  bool hasBody = false;
  uint32_t line = 0;
  std::vector<Variable> parameters;
  std::vector<Variable> returns;
  std::vector<Register> registers; // the ones that are used
  std::vector<Variable> variables; // declared in the body, all spaces
  std::vector<Instruction> body;
  std::vector<Label> labels;
  std::vector<BranchTable> tables;
  std::vector<uint32_t> scopeParent; // scope 0 is the body itself
  uint32_t maxThreads[3] = {0, 0, 0};
  uint32_t requiredThreads[3] = {0, 0, 0};
  uint32_t minBlocksPerSm = 0;
  uint32_t maxRegisters = 0;
};

struct ParsedModule {
  std::string text;
  std::string_view target; // sm_90
  std::string_view version;
  std::vector<Variable> variables;
  std::vector<Function> functions;
  std::unordered_map<std::string_view, uint32_t> functionIndex;
  std::unordered_map<std::string_view, std::string_view> aliases;
  std::unordered_map<uint32_t, std::string> files; // of `.file`
};

} // namespace lockstitch::simulator
