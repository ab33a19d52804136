//===- decode_control.cpp - branches, calls, barriers, warp operations ----===//
#include "runtime/device/simulator/decode.h"
#include "runtime/device/simulator/handlers.h"

namespace lockstitch::simulator {

bool Decoder::branch() {
  if (Parts.size() > 2 || (Parts.size() == 2 && Parts[1] != "uni"))
    return unknown();
  if (operands() != 1 || operand(0).kind != Operand::Kind::Name)
    return badOperands();
  Op &op = emit(nullptr, InstructionClass::Control);
  op.control = Control::Branch;
  Fixups.push_back({(uint32_t)P->ops.size() - 1,
                    (uint32_t)(Here - States.data()), operand(0).name,
                    Now->scope, Now->line, false});
  return true;
}

/// brx.idx: the targets become branches of their own, in a row, that the table
/// points to; so label resolution is the same for all.
bool Decoder::branchIndexed() {
  if (Parts.size() < 2 || Parts[1] != "idx" || operands() != 2 ||
      operand(1).kind != Operand::Kind::Name)
    return unknown();
  Slot a;
  if (!source(operand(0), OperandType::Bits32, a))
    return false;
  const Function &f = *Here->function;
  const BranchTable *table = nullptr;
  for (const BranchTable &t : f.tables)
    if (t.name == operand(1).name)
      table = &t;
  if (!table)
    return fail("unknown branch table '" + std::string(operand(1).name) + "'");
  if (Now->hasGuard)
    return fail("a guarded brx.idx is not supported");
  Op &op = emit(nullptr, InstructionClass::Control);
  op.control = Control::BranchTable;
  op.a = a;
  op.target = (uint32_t)P->branchTables.size();
  std::vector<uint32_t> targets;
  for (std::string_view name : table->targets) {
    Op &jump = emit(nullptr, InstructionClass::Control);
    jump.control = Control::Branch;
    jump.flags = 1; // part of the brx: not counted
    uint32_t index = (uint32_t)P->ops.size() - 1;
    targets.push_back(index);
    Fixups.push_back({index, (uint32_t)(Here - States.data()), name,
                      table->scope, Now->line, false});
  }
  P->branchTables.push_back(std::move(targets));
  return true;
}

bool Decoder::call() {
  // call{.uni} (ret), f, (params); every part but f may be missing.
  const Operand *returns = nullptr, *params = nullptr, *callee = nullptr;
  for (size_t i = 0; i < operands(); ++i) {
    const Operand &o = operand(i);
    if (o.kind == Operand::Kind::List)
      (callee ? params : returns) = &o;
    else if (!callee)
      callee = &o;
    else
      return fail("calls through a register are not supported");
  }
  if (!callee || callee->kind != Operand::Kind::Name)
    return fail("calls through a register are not supported");
  std::string_view name = callee->name;
  if (auto it = M.aliases.find(name); it != M.aliases.end())
    name = it->second;
  auto it = M.functionIndex.find(name);
  if (it == M.functionIndex.end())
    return fail("unknown function '" + std::string(name) + "'");
  const Function &f = M.functions[it->second];
  if (!f.hasBody) {
    // The device runtime's two functions that any kernel may contain.
    if (name == "__assertfail") {
      Op &op = emit(nullptr, InstructionClass::Control);
      op.control = Control::Trap;
      op.flags = 1;
      return true;
    }
    if (name != "vprintf")
      return fail("function '" + std::string(name) + "' has no body");
    // Nothing is printed; the result is the number of arguments taken: 0.
    emit(nothingHandler(), InstructionClass::Control);
    if (returns && returns->elements.size() == 1) {
      uint32_t offset;
      bool isKernel;
      const Variable *v =
          findVariable(returns->elements[0].name, Now->scope, offset, isKernel);
      if (!v || v->space != StateSpace::Param || isKernel)
        return badOperands();
      Op &op = emit(threadParameterHandler(false), InstructionClass::Parameter);
      MemoryAccess &access = addAccess(op);
      access.isLoad = false;
      access.space = StateSpace::Param;
      access.elementBytes = 4;
      access.slots[0] = constant(0, false);
      op.imm = offset;
    }
    return true;
  }
  CallInfo info;
  info.callee = name;
  const FunctionState &target = States[StateOf.at(it->second)];
  auto copies = [&](const Operand *list, const std::vector<Variable> &formals,
                    const std::vector<uint32_t> &offsets, bool toCallee,
                    std::vector<ParameterCopy> &out) {
    size_t n = list ? list->elements.size() : 0;
    if (n != formals.size())
      return fail("call of '" + std::string(name) +
                  "' with the wrong number of arguments");
    for (size_t i = 0; i < n; ++i) {
      const Operand &o = list->elements[i];
      uint32_t offset = 0;
      bool isKernel = false;
      const Variable *v =
          o.kind == Operand::Kind::Name
              ? findVariable(o.name, Now->scope, offset, isKernel)
              : nullptr;
      if (!v || v->space != StateSpace::Param || isKernel)
        return fail("arguments of calls must be .param variables");
      if (v->bytes != formals[i].bytes)
        return fail("argument " + std::to_string(i) + " of '" +
                    std::string(name) + "' has the wrong size");
      if (toCallee)
        out.push_back({offset, offsets[i], (uint32_t)v->bytes});
      else
        out.push_back({offsets[i], offset, (uint32_t)v->bytes});
    }
    return true;
  };
  if (!copies(params, f.parameters, target.parameterOffsets, true,
              info.before) ||
      !copies(returns, f.returns, target.returnOffsets, false, info.after))
    return false;
  Op &op = emit(nullptr, InstructionClass::Control);
  op.control = Control::Call;
  op.imm = (int64_t)P->calls.size();
  P->calls.push_back(std::move(info));
  Fixups.push_back({(uint32_t)P->ops.size() - 1, StateOf.at(it->second), name,
                    0, Now->line, true});
  return true;
}

bool Decoder::leave() {
  if (operands() != 0)
    return badOperands();
  if (Parts.size() > 2 || (Parts.size() == 2 && Parts[1] != "uni"))
    return unknown();
  bool isExit = Parts[0] == "exit" || Here->isKernel;
  emit(nullptr, InstructionClass::Control).control =
      isExit ? Control::Exit : Control::Return;
  return true;
}

bool Decoder::trap() {
  if (Parts.size() != 1)
    return unknown();
  emit(nullptr, InstructionClass::Control).control = Control::Trap;
  return true;
}

/// bar{.cta}.sync, .arrive, .red.op.type; barrier{.cta} likewise and .aligned;
/// bar.warp.sync.
bool Decoder::barrier() {
  size_t i = 1;
  if (i < Parts.size() && Parts[i] == "warp") {
    if (Parts.size() != 3 || Parts[2] != "sync")
      return unknown();
    Slot mask;
    if (operands() != 1 || !source(operand(0), OperandType::Bits32, mask))
      return Error ? false : badOperands();
    Op &op = emit(warpSyncHandler(), InstructionClass::Barrier);
    op.control = Control::Convergent;
    op.c = mask;
    return true;
  }
  if (i < Parts.size() && Parts[i] == "cta")
    ++i;
  if (i >= Parts.size())
    return unknown();
  std::string_view what = Parts[i++];
  bool aligned = Parts[0] == "bar";
  uint8_t mode;
  std::string_view reduction;
  if (what == "sync")
    mode = 0;
  else if (what == "arrive")
    mode = 1;
  else if (what == "red" && i < Parts.size()) {
    reduction = Parts[i++];
    if (reduction == "aligned" && i < Parts.size()) {
      aligned = true;
      reduction = Parts[i++];
    }
    mode = reduction == "popc"  ? 2
           : reduction == "and" ? 3
           : reduction == "or"  ? 4
                                : 255;
  } else {
    return unknown();
  }
  for (; i < Parts.size(); ++i) {
    if (Parts[i] == "aligned")
      aligned = true;
    else if (!(mode == 2 && Parts[i] == "u32") &&
             !((mode == 3 || mode == 4) && Parts[i] == "pred"))
      return unknown();
  }
  if (mode == 255)
    return unknown();
  // {d,} a {, b} {, p}
  size_t first = mode >= 2 ? 1 : 0, last = operands();
  Slot d = NoSlot, a, b = NoSlot, p = NoSlot;
  bool negated = false;
  if (mode >= 2) {
    if (last < 3 || !predicateSource(operand(last - 1), p, negated) ||
        !destination(operand(0),
                     mode == 2 ? OperandType::Bits32 : OperandType::Predicate,
                     d))
      return Error ? false : badOperands();
    --last;
  }
  size_t n = last - first;
  if (n < 1 || n > 2 || (mode == 1 && n != 2))
    return badOperands();
  if (!source(operand(first), OperandType::Bits32, a) ||
      (n == 2 && !source(operand(first + 1), OperandType::Bits32, b)))
    return false;
  Op &op = emit(nullptr, InstructionClass::Barrier);
  op.control = Control::Barrier;
  op.mode = mode;
  op.aligned = aligned;
  op.d = d;
  op.a = a;
  op.b = b;
  op.c = p;
  op.flags = negated;
  if (b != NoSlot || !aligned ||
      operand(first).kind != Operand::Kind::Integer || operand(first).bits != 0)
    P->hasPartialBarriers = true;
  return true;
}

bool Decoder::fence() {
  // membar.{cta,gl,sys}; fence{.sc,.acq_rel,.acquire,.release}.scope
  Scope scope = Scope::Device;
  bool known = Parts.size() >= 2 && operands() == 0;
  bool hasScope = false;
  for (size_t i = 1; i < Parts.size(); ++i) {
    if (Parts[i] == "cta") {
      scope = Scope::Block;
      hasScope = true;
    } else if (Parts[i] == "gl" || Parts[i] == "sys" || Parts[i] == "gpu" ||
               Parts[i] == "cluster") {
      hasScope = true;
    } else if (Parts[i] != "sc" && Parts[i] != "acq_rel" &&
               Parts[i] != "acquire" && Parts[i] != "release") {
      known = false;
    }
  }
  if (!known || !hasScope)
    return unknown();
  emit(fenceHandler(), InstructionClass::Barrier).mode = (uint8_t)scope;
  return true;
}

bool Decoder::shuffle() {
  if (Parts.size() < 2 || Parts[1] != "sync")
    return fail("'" + std::string(Now->opcode) +
                "' without .sync does not exist from sm_70 on");
  if (Parts.size() != 4 || Parts[3] != "b32")
    return unknown();
  Shuffle mode;
  if (Parts[2] == "up")
    mode = Shuffle::Up;
  else if (Parts[2] == "down")
    mode = Shuffle::Down;
  else if (Parts[2] == "bfly")
    mode = Shuffle::Butterfly;
  else if (Parts[2] == "idx")
    mode = Shuffle::Index;
  else
    return unknown();
  if (operands() != 5)
    return badOperands();
  Slot d, e = NoSlot, a, b, c, mask;
  if (!destination(operand(0), OperandType::Bits32, d) ||
      (!operand(0).second.empty() &&
       !destination(operand(0).second[0], OperandType::Predicate, e)) ||
      !source(operand(1), OperandType::Bits32, a) ||
      !source(operand(2), OperandType::Bits32, b) ||
      !source(operand(3), OperandType::Bits32, c) ||
      !source(operand(4), OperandType::Bits32, mask))
    return false;
  Op &op = emit(shuffleHandler(), InstructionClass::Shuffle);
  op.control = Control::Convergent;
  op.mode = (uint8_t)mode;
  op.d = d;
  op.e = e;
  op.a = a;
  op.b = b;
  op.f = c;
  op.c = mask;
  return true;
}

bool Decoder::vote() {
  if (Parts.size() != 4 || Parts[1] != "sync" || operands() != 3)
    return unknown();
  Vote mode;
  if (Parts[2] == "all")
    mode = Vote::All;
  else if (Parts[2] == "any")
    mode = Vote::Any;
  else if (Parts[2] == "uni")
    mode = Vote::Uniform;
  else if (Parts[2] == "ballot")
    mode = Vote::Ballot;
  else
    return unknown();
  if (Parts[3] != (mode == Vote::Ballot ? "b32" : "pred"))
    return unknown();
  Slot d, a, mask;
  bool negated;
  if (!destination(operand(0),
                   mode == Vote::Ballot ? OperandType::Bits32
                                        : OperandType::Predicate,
                   d) ||
      !predicateSource(operand(1), a, negated) ||
      !source(operand(2), OperandType::Bits32, mask))
    return false;
  Op &op = emit(voteHandler(), InstructionClass::Shuffle);
  op.control = Control::Convergent;
  op.mode = (uint8_t)mode;
  op.flags = negated;
  op.d = d;
  op.a = a;
  op.c = mask;
  return true;
}

bool Decoder::match() {
  if (Parts.size() != 4 || Parts[2] != "sync" || operands() != 3)
    return unknown();
  bool all = Parts[1] == "all", wide = Parts[3] == "b64";
  if ((!all && Parts[1] != "any") || (!wide && Parts[3] != "b32"))
    return unknown();
  Slot d, e = NoSlot, a, mask;
  if (!destination(operand(0), OperandType::Bits32, d) ||
      (!operand(0).second.empty() &&
       !destination(operand(0).second[0], OperandType::Predicate, e)) ||
      !source(operand(1), wide ? OperandType::Bits64 : OperandType::Bits32,
              a) ||
      !source(operand(2), OperandType::Bits32, mask))
    return false;
  Op &op = emit(matchHandler(), InstructionClass::Shuffle);
  op.control = Control::Convergent;
  op.mode = (uint8_t)((all ? 1 : 0) | (wide ? 2 : 0));
  op.d = d;
  op.e = e;
  op.a = a;
  op.c = mask;
  return true;
}

bool Decoder::redux() {
  if (Parts.size() != 4 || Parts[1] != "sync" || operands() != 3)
    return unknown();
  static constexpr std::string_view Names[] = {"add", "min", "max",
                                               "and", "or",  "xor"};
  uint8_t mode = 0;
  while (mode < 6 && Names[mode] != Parts[2])
    ++mode;
  bool arithmetic = Parts[3] == "u32" || Parts[3] == "s32";
  if (mode == 6 || (mode < 3 ? !arithmetic : Parts[3] != "b32"))
    return unknown();
  Slot d, a, mask;
  if (!destination(operand(0), OperandType::Bits32, d) ||
      !source(operand(1), OperandType::Bits32, a) ||
      !source(operand(2), OperandType::Bits32, mask))
    return false;
  Op &op = emit(reduxHandler(), InstructionClass::Shuffle);
  op.control = Control::Convergent;
  op.mode = mode;
  op.flags = Parts[3] == "s32";
  op.d = d;
  op.a = a;
  op.c = mask;
  return true;
}

bool Decoder::elect() {
  if (Parts.size() != 2 || Parts[1] != "sync" || operands() != 2 ||
      operand(0).second.size() != 1)
    return unknown();
  Slot d, e, mask;
  if (!destination(operand(0), OperandType::Bits32, d) ||
      !destination(operand(0).second[0], OperandType::Predicate, e) ||
      !source(operand(1), OperandType::Bits32, mask))
    return false;
  Op &op = emit(electHandler(), InstructionClass::Shuffle);
  op.control = Control::Convergent;
  op.d = d;
  op.e = e;
  op.c = mask;
  return true;
}

bool Decoder::activeMask() {
  Slot d;
  if (operands() != 1 || !destination(operand(0), OperandType::Bits32, d))
    return Error ? false : badOperands();
  emit(activeMaskHandler(), InstructionClass::Shuffle).d = d;
  return true;
}

} // namespace lockstitch::simulator
