//===- analysis.cpp - order of execution, liveness, provenance ------------===//
//
// Ranks. A warp whose lanes are at different places runs those at the place of
// the lowest rank. Ranks follow a topological order of the control flow in
// which a loop lies before what follows it (strongly connected components,
// recursively, without the head of each); so lanes wait for each other at the
// earliest place where their ways meet again, the immediate post-dominator in
// structured code, without a stack and without asking for reducible code.
//
// Liveness gives an estimate of the registers and the few registers that may
// be read before they are written, which must not carry values of an earlier
// block.
//
// Provenance says which kernel parameters an address may stem from; so that an
// access can be checked against the tensor and not merely against the
// allocation.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/simulator/decode.h"
#include "runtime/device/simulator/handlers.h"

#include <algorithm>
#include <bit>
#include <functional>

namespace lockstitch::simulator {

namespace {

struct BasicBlock {
  uint32_t first = 0, last = 0; // ops, last included
  std::vector<uint32_t> next;
};

class FunctionAnalysis {
public:
  FunctionAnalysis(Program &program, uint32_t first, uint32_t end)
      : P(program), First(first), End(end) {}

  void run(uint32_t &rank, uint32_t &registers) {
    findBlocks();
    orderBlocks();
    for (uint32_t b : Order)
      for (uint32_t i = Blocks[b].first; i <= Blocks[b].last; ++i)
        P.ops[i].rank = rank++;
    registers = liveness();
    for (const BasicBlock &b : Blocks)
      loadsInFlight(b);
  }

private:
  static bool endsBlock(const Op &op) {
    return op.control == Control::Branch || op.control == Control::Exit ||
           op.control == Control::Return ||
           op.control == Control::BranchTable || op.control == Control::Trap;
  }

  void findBlocks() {
    std::vector<bool> leader(End - First, false);
    leader[0] = true;
    auto mark = [&](uint32_t op) {
      if (op >= First && op < End)
        leader[op - First] = true;
    };
    for (uint32_t i = First; i < End; ++i) {
      const Op &op = P.ops[i];
      if (op.control == Control::Branch)
        mark(op.target);
      if (op.control == Control::BranchTable)
        for (uint32_t target : P.branchTables[op.target])
          mark(target);
      if (endsBlock(op))
        mark(i + 1);
      // After a call lanes may come back one by one.
      if (op.control == Control::Call)
        mark(i + 1);
    }
    BlockOf.assign(End - First, 0);
    for (uint32_t i = First; i < End; ++i) {
      if (leader[i - First]) {
        P.ops[i].isLeader = true;
        Blocks.push_back({i, i, {}});
      }
      Blocks.back().last = i;
      BlockOf[i - First] = (uint32_t)Blocks.size() - 1;
    }
    for (BasicBlock &b : Blocks) {
      const Op &op = P.ops[b.last];
      bool guarded = op.guard != NoSlot;
      if (op.control == Control::Branch)
        b.next.push_back(BlockOf[op.target - First]);
      if (op.control == Control::BranchTable)
        for (uint32_t target : P.branchTables[op.target])
          b.next.push_back(BlockOf[target - First]);
      if ((!endsBlock(op) || guarded) && b.last + 1 < End)
        b.next.push_back(BlockOf[b.last + 1 - First]);
    }
  }

  /// Components of the blocks in \p members, in topological order; those that
  /// are loops are ordered again without their first block.
  void orderComponents(const std::vector<uint32_t> &members, unsigned depth) {
    // Tarjan's algorithm, without recursion over the blocks.
    uint32_t counter = 0;
    std::vector<std::vector<uint32_t>> components;
    std::vector<uint32_t> stack;
    struct Frame {
      uint32_t block;
      size_t edge;
    };
    std::vector<Frame> frames;
    ++Round;
    for (uint32_t b : members)
      InRound[b] = Round, Index[b] = Low[b] = ~0u, OnStack[b] = false;
    for (uint32_t root : members) {
      if (Index[root] != ~0u)
        continue;
      frames.push_back({root, 0});
      Index[root] = Low[root] = counter++;
      stack.push_back(root);
      OnStack[root] = true;
      while (!frames.empty()) {
        Frame &frame = frames.back();
        uint32_t b = frame.block;
        if (frame.edge < Blocks[b].next.size()) {
          uint32_t n = Blocks[b].next[frame.edge++];
          if (InRound[n] != Round)
            continue;
          if (Index[n] == ~0u) {
            Index[n] = Low[n] = counter++;
            stack.push_back(n);
            OnStack[n] = true;
            frames.push_back({n, 0});
          } else if (OnStack[n]) {
            Low[b] = std::min(Low[b], Index[n]);
          }
          continue;
        }
        frames.pop_back();
        if (!frames.empty())
          Low[frames.back().block] = std::min(Low[frames.back().block], Low[b]);
        if (Low[b] != Index[b])
          continue;
        std::vector<uint32_t> component;
        for (uint32_t n = ~0u; n != b;) {
          n = stack.back();
          stack.pop_back();
          OnStack[n] = false;
          component.push_back(n);
        }
        // By depth-first number: the head, where the search came in, is first.
        std::sort(component.begin(), component.end(),
                  [&](uint32_t x, uint32_t y) { return Index[x] < Index[y]; });
        components.push_back(std::move(component));
      }
    }
    for (size_t i = components.size(); i-- > 0;) {
      std::vector<uint32_t> &component = components[i];
      Order.push_back(component[0]);
      if (component.size() == 1)
        continue;
      component.erase(component.begin());
      if (depth > 100) // a text that nests so deep gets any order
        Order.insert(Order.end(), component.begin(), component.end());
      else
        orderComponents(component, depth + 1);
    }
  }

  void orderBlocks() {
    size_t n = Blocks.size();
    InRound.assign(n, 0);
    Index.assign(n, 0);
    Low.assign(n, 0);
    OnStack.assign(n, false);
    std::vector<uint32_t> all(n);
    for (uint32_t i = 0; i < n; ++i)
      all[i] = i;
    orderComponents(all, 0);
  }

  /// Registers of bank 0 that an op reads and writes, as slots.
  template <class Use, class Def>
  void operands(const Op &op, Use use, Def def) const {
    auto useSlot = [&](Slot s) {
      if (s != NoSlot && !(s & 1))
        use(s);
    };
    auto defSlot = [&](Slot s) {
      if (s != NoSlot && !(s & 1))
        def(s);
    };
    useSlot(op.a);
    useSlot(op.b);
    useSlot(op.c);
    useSlot(op.f);
    useSlot(op.guard);
    defSlot(op.d);
    defSlot(op.e);
    if (op.access != NoAccess) {
      const MemoryAccess &m = P.accesses[op.access];
      bool atomic = op.kind == InstructionClass::Atomic;
      for (unsigned i = 0; i < 8; ++i) {
        if (m.slots[i] == NoSlot ||
            (!atomic && i >= m.count && m.elementBytes != 16))
          continue;
        if (atomic ? i < 4 : m.isLoad)
          defSlot(m.slots[i]);
        else
          useSlot(m.slots[i]);
      }
    }
    if (op.list != NoAccess) {
      const std::vector<Slot> &list = P.lists[op.list];
      for (size_t i = 0; i < list.size(); ++i)
        if ((int64_t)i < op.imm)
          defSlot(list[i]);
        else
          useSlot(list[i]);
    }
  }

  uint32_t liveness() {
    // Only the registers that the function names; others cost nothing.
    std::vector<uint32_t> dense(P.warpBytes / LaneBytes32 + 1, ~0u);
    std::vector<Slot> slots;
    auto number = [&](Slot s) {
      uint32_t &d = dense[s / LaneBytes32];
      if (d == ~0u) {
        d = (uint32_t)slots.size();
        slots.push_back(s);
      }
      return d;
    };
    for (uint32_t i = First; i < End; ++i)
      operands(P.ops[i], number, number);
    size_t words = (slots.size() + 63) / 64, n = Blocks.size();
    if (words * n > (1u << 24)) { // a text of that size gets the safe answer
      P.zeroAtEntry.push_back({0, P.warpBytes});
      return 255;
    }
    std::vector<uint64_t> gen(words * n), kill(words * n), in(words * n),
        out(words * n);
    auto bit = [&](std::vector<uint64_t> &set, size_t b,
                   uint32_t i) -> std::pair<uint64_t &, uint64_t> {
      return {set[b * words + i / 64], uint64_t(1) << (i % 64)};
    };
    for (size_t b = 0; b < n; ++b)
      for (uint32_t i = Blocks[b].first; i <= Blocks[b].last; ++i) {
        const Op &op = P.ops[i];
        operands(
            op,
            [&](Slot s) {
              auto [k, m] = bit(kill, b, number(s));
              auto [g, m2] = bit(gen, b, number(s));
              if (!(k & m))
                g |= m2;
            },
            [](Slot) {});
        if (op.guard == NoSlot)
          operands(
              op, [](Slot) {},
              [&](Slot s) {
                auto [k, m] = bit(kill, b, number(s));
                k |= m;
              });
      }
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t o = Order.size(); o-- > 0;) {
        uint32_t b = Order[o];
        for (size_t w = 0; w < words; ++w) {
          uint64_t live = 0;
          for (uint32_t s : Blocks[b].next)
            live |= in[s * words + w];
          uint64_t before = gen[b * words + w] | (live & ~kill[b * words + w]);
          out[b * words + w] = live;
          changed |= before != in[b * words + w];
          in[b * words + w] = before;
        }
      }
    }
    auto isWide = [&](uint32_t i) { return isWideSlot(slots[i]); };
    uint32_t most = 0;
    for (size_t b = 0; b < n; ++b) {
      std::vector<uint64_t> live(out.begin() + b * words,
                                 out.begin() + (b + 1) * words);
      uint32_t now = 0;
      for (uint32_t i = 0; i < slots.size(); ++i)
        if (live[i / 64] >> (i % 64) & 1)
          now += isWide(i) ? 2 : 1;
      most = std::max(most, now);
      for (uint32_t i = Blocks[b].last + 1; i-- > Blocks[b].first;) {
        const Op &op = P.ops[i];
        auto set = [&](Slot s, bool value) {
          uint32_t k = number(s);
          uint64_t m = uint64_t(1) << (k % 64);
          bool was = live[k / 64] & m;
          if (was == value)
            return;
          live[k / 64] ^= m;
          now += value ? (isWide(k) ? 2 : 1) : (isWide(k) ? -2 : -1);
        };
        if (op.guard == NoSlot)
          operands(op, [](Slot) {}, [&](Slot s) { set(s, false); });
        operands(op, [&](Slot s) { set(s, true); }, [](Slot) {});
        most = std::max(most, now);
      }
    }
    for (uint32_t i = 0; i < slots.size(); ++i)
      if (words && (in[i / 64] >> (i % 64) & 1) && !isThreadRegister(slots[i]))
        P.zeroAtEntry.push_back(
            {slots[i], isWide(i) ? LaneBytes64 : LaneBytes32});
    return most;
  }

  bool isThreadRegister(Slot s) const {
    for (const ThreadRegisterSlot &t : P.threadRegisters)
      if (t.slot == s)
        return true;
    return false;
  }
  bool isWideSlot(Slot s) const {
    return std::binary_search(P.wideSlots.begin(), P.wideSlots.end(), s);
  }

  /// Global loads that are under way before the first of them is needed.
  void loadsInFlight(const BasicBlock &b) {
    std::vector<Slot> waiting;
    uint32_t bytes = 0;
    for (uint32_t i = b.first; i <= b.last; ++i) {
      const Op &op = P.ops[i];
      bool needed = op.control == Control::Barrier;
      operands(
          op,
          [&](Slot s) {
            needed |=
                std::find(waiting.begin(), waiting.end(), s) != waiting.end();
          },
          [](Slot) {});
      if (needed) {
        waiting.clear();
        bytes = 0;
      }
      if (op.access == NoAccess || op.kind != InstructionClass::Global)
        continue;
      const MemoryAccess &m = P.accesses[op.access];
      if (!m.isLoad)
        continue;
      bytes += m.elementBytes * m.count;
      operands(
          op, [](Slot) {},
          [&](Slot s) {
            if (waiting.size() < 256)
              waiting.push_back(s);
          });
      P.loadBytesInFlight = std::max(P.loadBytesInFlight, bytes);
    }
  }

  Program &P;
  uint32_t First, End;
  std::vector<BasicBlock> Blocks;
  std::vector<uint32_t> BlockOf, Order;
  std::vector<uint32_t> InRound, Index, Low;
  std::vector<bool> OnStack;
  uint32_t Round = 0;
};

constexpr uint64_t UnknownPointer = uint64_t(1) << 63;

void findProvenance(Program &p) {
  std::vector<uint64_t> of(p.warpBytes / LaneBytes32 + 1, 0);
  std::vector<uint64_t> area(p.threadParamBytes / 4 + 2, 0);
  auto at = [&](Slot s) { return s == NoSlot || s & 1 ? 0 : of[s / 128]; };
  // An index that was loaded is no pointer where it is added to one.
  auto sum = [](uint64_t a, uint64_t b) {
    uint64_t both = a | b;
    return both & ~UnknownPointer ? both & ~UnknownPointer : both;
  };
  bool changed = true;
  for (unsigned round = 0; changed && round < 64; ++round) {
    changed = false;
    auto flow = [&](uint64_t &to, uint64_t bits) {
      changed |= (to | bits) != to;
      to |= bits;
    };
    for (const Op &op : p.ops) {
      if (op.control == Control::Call) {
        const CallInfo &call = p.calls[(size_t)op.imm];
        for (const auto *copies : {&call.before, &call.after})
          for (const ParameterCopy &c : *copies)
            for (uint32_t k = 0; k < c.bytes; k += 4)
              flow(area[(c.to + k) / 4], area[(c.from + k) / 4]);
        continue;
      }
      if (op.access != NoAccess) {
        const MemoryAccess &m = p.accesses[op.access];
        if (op.kind == InstructionClass::Atomic) {
          for (unsigned i = 0; i < 4; ++i)
            if (m.slots[i] != NoSlot && m.elementBytes == 8)
              flow(of[m.slots[i] / 128], UnknownPointer);
          continue;
        }
        bool isParam = m.space == StateSpace::Param;
        for (unsigned i = 0; i < m.count; ++i) {
          Slot s = m.slots[i];
          if (s == NoSlot || m.elementBytes != 8)
            continue;
          uint64_t where = (uint64_t)op.imm / 4 + 2 * i;
          bool inArea = isParam && op.run == threadParameterHandler(m.isLoad) &&
                        !m.hasBase && where < area.size();
          if (!m.isLoad) {
            if (inArea)
              flow(area[where], at(s));
          } else if (s & 1) {
          } else if (inArea) {
            flow(of[s / 128], area[where]);
          } else if (isParam && m.arguments) {
            flow(of[s / 128], m.arguments);
          } else if (!isParam || m.hasBase) {
            flow(of[s / 128], UnknownPointer);
          }
        }
        continue;
      }
      if (op.d == NoSlot || (op.d & 1) ||
          !std::binary_search(p.wideSlots.begin(), p.wideSlots.end(), op.d))
        continue;
      std::string_view name = p.places[op.source].opcode;
      std::string_view mnemonic = name.substr(0, name.find('.'));
      uint64_t &to = of[op.d / 128];
      if (mnemonic == "add" || mnemonic == "sub" || mnemonic == "and" ||
          mnemonic == "or" || mnemonic == "xor")
        flow(to, sum(at(op.a), at(op.b)));
      else if (mnemonic == "mad")
        flow(to, at(op.c));
      else if (mnemonic == "mov" && op.list != NoAccess)
        flow(to, UnknownPointer); // put together from halves
      else if (mnemonic == "mov" || mnemonic == "cvta" || mnemonic == "selp" ||
               mnemonic == "min" || mnemonic == "max" || mnemonic == "slct")
        flow(to, at(op.a) | at(op.b));
      else if (mnemonic == "addc" || mnemonic == "bfi" || mnemonic == "prmt")
        flow(to, UnknownPointer);
    }
  }
  for (const Op &op : p.ops) {
    if (op.access == NoAccess)
      continue;
    MemoryAccess &m = p.accesses[op.access];
    if (m.space == StateSpace::Param)
      continue;
    uint64_t bits = at(op.a);
    m.arguments = bits & UnknownPointer || changed ? 0 : bits;
  }
}

void findFlags(Program &p) {
  for (const Op &op : p.ops) {
    if (op.run == fenceHandler())
      p.mayOrder = true;
    if (op.access == NoAccess)
      continue;
    const MemoryAccess &m = p.accesses[op.access];
    bool global =
        m.space == StateSpace::Global || m.space == StateSpace::Generic;
    if (global && m.scope != Scope::Weak)
      p.usesGlobalAtomics = true;
    if (m.acquire || m.release)
      p.mayOrder = true;
  }
}

} // namespace

void analyse(Program &p,
             const std::vector<std::pair<uint32_t, uint32_t>> &functions) {
  std::sort(p.wideSlots.begin(), p.wideSlots.end());
  uint32_t rank = 0;
  uint32_t kernel = 0, callees = 0;
  for (size_t i = 0; i < functions.size(); ++i) {
    uint32_t registers = 0;
    FunctionAnalysis(p, functions[i].first, functions[i].second)
        .run(rank, registers);
    if (i == 0)
      kernel = registers;
    else
      callees = std::max(callees, registers);
  }
  // What the hardware keeps beside the program's own values.
  p.registerEstimate = std::min(255u, std::max(16u, kernel + callees + 6));
  findProvenance(p);
  findFlags(p);
  for (Op &op : p.ops)
    if (op.access != NoAccess)
      op.memory = &p.accesses[op.access];
}

} // namespace lockstitch::simulator
