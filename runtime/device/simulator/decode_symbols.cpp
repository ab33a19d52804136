//===- decode_symbols.cpp - constants, special registers, names -----------===//
#include "runtime/device/simulator/decode.h"

namespace lockstitch::simulator {

/// Bank 1 begins with constants; the lowest bit of a slot names the bank.
Slot Decoder::constant(uint64_t bits, bool wide) {
  if (!wide)
    bits &= 0xFFFFFFFFu;
  auto [it, isNew] = Constants.try_emplace({bits, wide}, 0);
  if (isNew) {
    it->second = P->uniformBytes | 1;
    P->uniformBytes += wide ? LaneBytes64 : LaneBytes32;
    P->constants.push_back({it->second, wide, bits});
  }
  return it->second;
}

Slot Decoder::blockRegister(BlockRegister which, bool wide) {
  auto [it, isNew] = BlockSlots.try_emplace({(uint8_t)which, wide}, 0);
  if (isNew) {
    it->second = P->uniformBytes | 1;
    P->uniformBytes += wide ? LaneBytes64 : LaneBytes32;
    P->blockRegisters.push_back({which, it->second, wide});
  }
  return it->second;
}

Slot Decoder::threadRegister(ThreadRegister which) {
  auto [it, isNew] = ThreadSlots.try_emplace((uint8_t)which, 0);
  if (isNew) {
    it->second = allocate(false);
    P->threadRegisters.push_back({which, it->second});
  }
  return it->second;
}

bool Decoder::specialRegister(std::string_view name, bool wide, Slot &slot) {
  struct BlockEntry {
    std::string_view name;
    BlockRegister which;
  };
  static constexpr BlockEntry Blocks[] = {
      {"%ctaid.x", BlockRegister::CtaIdX},
      {"%ctaid.y", BlockRegister::CtaIdY},
      {"%ctaid.z", BlockRegister::CtaIdZ},
      {"%ntid.x", BlockRegister::NtidX},
      {"%ntid.y", BlockRegister::NtidY},
      {"%ntid.z", BlockRegister::NtidZ},
      {"%nctaid.x", BlockRegister::NctaIdX},
      {"%nctaid.y", BlockRegister::NctaIdY},
      {"%nctaid.z", BlockRegister::NctaIdZ},
      {"%nwarpid", BlockRegister::NumWarps},
      {"%smid", BlockRegister::SmId},
      {"%nsmid", BlockRegister::NumSms},
      {"%gridid", BlockRegister::GridId},
      {"%dynamic_smem_size", BlockRegister::DynamicShared},
      {"%total_smem_size", BlockRegister::TotalShared},
      {"%aggr_smem_size", BlockRegister::TotalShared},
      {"%envreg1", BlockRegister::Environment1},
      {"%envreg2", BlockRegister::Environment2},
      // A cluster is one block.
      {"%clusterid.x", BlockRegister::CtaIdX},
      {"%clusterid.y", BlockRegister::CtaIdY},
      {"%clusterid.z", BlockRegister::CtaIdZ},
      {"%nclusterid.x", BlockRegister::NctaIdX},
      {"%nclusterid.y", BlockRegister::NctaIdY},
      {"%nclusterid.z", BlockRegister::NctaIdZ},
      {"%cluster_ctaid.x", BlockRegister::Zero},
      {"%cluster_ctaid.y", BlockRegister::Zero},
      {"%cluster_ctaid.z", BlockRegister::Zero},
      {"%cluster_nctaid.x", BlockRegister::One},
      {"%cluster_nctaid.y", BlockRegister::One},
      {"%cluster_nctaid.z", BlockRegister::One},
      {"%cluster_ctarank", BlockRegister::Zero},
      {"%cluster_nctarank", BlockRegister::One},
      {"%tid.w", BlockRegister::Zero},
      {"%ctaid.w", BlockRegister::Zero},
      {"%ntid.w", BlockRegister::One},
      {"%nctaid.w", BlockRegister::One}};
  struct ThreadEntry {
    std::string_view name;
    ThreadRegister which;
  };
  static constexpr ThreadEntry Threads[] = {
      {"%tid.x", ThreadRegister::TidX},
      {"%tid.y", ThreadRegister::TidY},
      {"%tid.z", ThreadRegister::TidZ},
      {"%laneid", ThreadRegister::LaneId},
      {"%warpid", ThreadRegister::WarpId},
      {"%lanemask_eq", ThreadRegister::MaskEq},
      {"%lanemask_le", ThreadRegister::MaskLe},
      {"%lanemask_lt", ThreadRegister::MaskLt},
      {"%lanemask_ge", ThreadRegister::MaskGe},
      {"%lanemask_gt", ThreadRegister::MaskGt}};
  for (const BlockEntry &entry : Blocks)
    if (entry.name == name) {
      slot = blockRegister(entry.which, wide);
      return true;
    }
  if (name == "WARP_SZ") {
    slot = constant(32, wide);
    return true;
  }
  for (const ThreadEntry &entry : Threads)
    if (entry.name == name) {
      if (wide)
        return fail("'" + std::string(name) + "' has 32 bits");
      slot = threadRegister(entry.which);
      return true;
    }
  return false;
}

const Variable *Decoder::findVariable(std::string_view name, uint32_t scope,
                                      uint32_t &offset,
                                      bool &isKernelParameter) const {
  const Function &f = *Here->function;
  isKernelParameter = false;
  for (uint32_t s = scope;; s = f.scopeParent[s]) {
    for (size_t i = f.variables.size(); i-- > 0;)
      if (f.variables[i].scope == s && f.variables[i].name == name) {
        offset = Here->variableOffsets[i];
        return &f.variables[i];
      }
    if (s == 0)
      break;
  }
  for (size_t i = 0; i < f.parameters.size(); ++i)
    if (f.parameters[i].name == name) {
      isKernelParameter = Here->isKernel;
      offset =
          Here->isKernel ? P->parameters[i].offset : Here->parameterOffsets[i];
      return &f.parameters[i];
    }
  for (size_t i = 0; i < f.returns.size(); ++i)
    if (f.returns[i].name == name) {
      offset = Here->returnOffsets[i];
      return &f.returns[i];
    }
  for (const Variable &v : M.variables)
    if (v.name == name) {
      if (v.space == StateSpace::Shared) {
        auto it = SharedOffsets.find(name);
        offset = it == SharedOffsets.end() ? 0 : it->second;
      }
      return &v;
    }
  return nullptr;
}

bool Decoder::symbol(std::string_view name, int64_t offset, bool wide,
                     Slot &slot, StateSpace *space) {
  uint32_t base = 0;
  bool isKernelParameter = false;
  const Variable *v = findVariable(name, Now->scope, base, isKernelParameter);
  if (!v) {
    if (M.functionIndex.count(name))
      return fail("addresses of functions are not supported ('" +
                  std::string(name) + "')");
    return fail("unknown name '" + std::string(name) + "'");
  }
  if (space)
    *space = v->space;
  switch (v->space) {
  case StateSpace::Global:
  case StateSpace::Const: {
    auto [it, isNew] =
        SymbolSlots.try_emplace({std::string(name), offset, wide}, 0);
    if (isNew) {
      it->second = P->uniformBytes | 1;
      P->uniformBytes += wide ? LaneBytes64 : LaneBytes32;
      P->symbols.push_back({it->second, wide, std::string(name), offset});
    }
    slot = it->second;
    return true;
  }
  case StateSpace::Param:
    if (!isKernelParameter)
      base += ThreadParamBase;
    break;
  default:
    break;
  }
  slot = constant((uint64_t)((int64_t)base + offset), wide);
  return true;
}

} // namespace lockstitch::simulator
