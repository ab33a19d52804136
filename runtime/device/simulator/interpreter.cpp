//===- interpreter.cpp - runs one warp ------------------------------------===//
#include "runtime/device/simulator/interpreter.h"
#include "runtime/device/simulator/handlers.h"

namespace lockstitch::simulator {

namespace {

/// Which of two fragments comes first: the lower rank at the outermost call in
/// which they differ; a callee's op before whatever follows the call.
int compareFragments(const Program &p, const Fragment &a, const Fragment &b) {
  unsigned n = std::min(a.depth, b.depth);
  for (unsigned i = 0; i < n; ++i)
    if (a.stack[i] != b.stack[i])
      return p.ops[a.stack[i]].rank < p.ops[b.stack[i]].rank ? -1 : 1;
  uint32_t x = a.depth > n ? a.stack[n] : a.pc;
  uint32_t y = b.depth > n ? b.stack[n] : b.pc;
  if (x != y)
    return p.ops[x].rank < p.ops[y].rank ? -1 : 1;
  // One is in a function that the other is about to call, or has the same pc.
  return a.depth == b.depth ? 0 : a.depth > b.depth ? -1 : 1;
}

bool samePlace(const Fragment &a, const Fragment &b) {
  if (a.pc != b.pc || a.depth != b.depth)
    return false;
  for (unsigned i = 0; i < a.depth; ++i)
    if (a.stack[i] != b.stack[i])
      return false;
  return true;
}

/// Unites fragments at one place and chooses which to run; -1: none can.
int schedule(Warp &w) {
  const Program &p = *w.worker->launch->program;
  std::vector<Fragment> &fs = w.fragments;
  for (size_t i = 0; i < fs.size(); ++i)
    for (size_t k = i + 1; k < fs.size();) {
      bool mergeable = fs[i].state <= Fragment::Converging &&
                       fs[k].state <= Fragment::Converging &&
                       samePlace(fs[i], fs[k]);
      if (!mergeable) {
        ++k;
        continue;
      }
      fs[i].mask |= fs[k].mask;
      fs[i].state = Fragment::Ready;
      fs.erase(fs.begin() + (long)k);
    }
  int best = -1;
  for (size_t i = 0; i < fs.size(); ++i)
    if (fs[i].state == Fragment::Ready &&
        (best < 0 || compareFragments(p, fs[i], fs[(size_t)best]) < 0))
      best = (int)i;
  return best;
}

/// Lanes that cannot come to where \p f waits, or have a membermask that says
/// something else: reports and lets the fragment go on.
void giveUpWaiting(Warp &w, Fragment &f) {
  const Program &p = *w.worker->launch->program;
  const Op &op = p.ops[f.pc];
  std::string others;
  for (const Fragment &o : w.fragments)
    if (&o != &f)
      others += (others.empty() ? "" : ", ") + std::string("line ") +
                std::to_string(p.places[p.ops[o.pc].source].line);
  bool isBarrier = op.kind == InstructionClass::Barrier;
  report(w, op, isBarrier ? FindingKind::Barrier : FindingKind::Shuffle,
         (unsigned)__builtin_ctz(f.mask),
         std::string(isBarrier ? "divergent barrier: " : "divergent: ") +
             "lanes of this warp that have to take part are elsewhere (" +
             (others.empty() ? "exited" : others) + ")");
}

/// The lanes that a convergent op waits for.
uint32_t wantedLanes(const Warp &w, const Op &op, uint32_t mask) {
  if (op.c == NoSlot) // mma, ldmatrix: all of them
    return w.live;
  const uint32_t *member = w.src<uint32_t>(op.c);
  uint32_t wanted = 0;
  for (uint32_t left = mask; left; left &= left - 1)
    wanted |= member[__builtin_ctz(left)];
  return wanted & w.live;
}

void checkMembership(Warp &w, const Op &op) {
  if (op.c == NoSlot)
    return;
  const uint32_t *member = w.src<uint32_t>(op.c);
  FindingKind kind = op.kind == InstructionClass::Barrier
                         ? FindingKind::Barrier
                         : FindingKind::Shuffle;
  uint32_t bad = 0, differs = 0;
  uint32_t first = member[__builtin_ctz(w.mask)];
  for (unsigned i = 0; i < 32; ++i) {
    bad |= (uint32_t)!(member[i] >> i & 1) << i;
    differs |= (uint32_t)(member[i] != first) << i;
  }
  bad &= w.mask;
  if (bad)
    report(w, op, kind, (unsigned)__builtin_ctz(bad),
           "the thread is not in its own membermask");
  // Groups with masks of their own may meet in one instruction; within a
  // group, every thread must pass the same mask.
  if ((differs & w.mask) == 0)
    return;
  for (uint32_t left = w.mask; left; left &= left - 1) {
    unsigned i = (unsigned)__builtin_ctz(left);
    for (uint32_t k = member[i] & w.mask; k; k &= k - 1)
      if (member[__builtin_ctz(k)] != member[i]) {
        report(w, op, kind, i,
               "the threads of a membermask pass different masks");
        return;
      }
  }
}

/// A pure spin repeats its state; the registers decide.
uint64_t stateHash(const Warp &w) {
  const Program &p = *w.worker->launch->program;
  uint64_t h[4] = {w.carry, 1, 2, 3}; // four chains: the multiplier's latency
  const uint64_t *words = reinterpret_cast<const uint64_t *>(w.bank[0]);
  for (size_t i = 0; i < p.warpBytes / 8; i += 4)
    for (unsigned k = 0; k < 4; ++k)
      h[k] = (h[k] ^ words[i + k]) * 0x9E3779B97F4A7C15ull;
  return h[0] ^ h[1] << 1 ^ h[2] << 2 ^ h[3] << 3;
}

/// Called at each backward branch; true when the fragment has to be parked.
bool checkSpin(Warp &w, uint32_t pc) {
  SpinState &s = w.spin;
  if (s.pc != pc || s.effects != w.effects) {
    s = SpinState();
    s.pc = pc;
    s.effects = w.effects;
    w.watched.clear();
    return false;
  }
  ++s.turns;
  bool isPower = s.turns >= 256 && (s.turns & (s.turns - 1)) == 0;
  if (isPower) {
    s.hash = stateHash(w);
    s.recording = true;
    w.watched.clear();
    return false;
  }
  if (!s.recording)
    return false;
  s.recording = false;
  return stateHash(w) == s.hash;
}

void trapFinding(Warp &w, const Op &op) {
  report(w, op, FindingKind::Trap, (unsigned)__builtin_ctz(w.mask),
         op.flags & 1 ? "a device-side assertion failed"
                      : "the kernel executed trap");
}

} // namespace

Stop runWarp(Warp &w, uint64_t quantum) {
  Worker &worker = *w.worker;
  const Program &program = *worker.launch->program;
  const Op *code = program.ops.data();
  OpCount *counts = worker.ops.data();
  uint64_t end = w.executed + quantum;

  int chosen = schedule(w);
  if (chosen < 0)
    return w.fragments.empty() ? Stop::Exited : Stop::Blocked;
  w.current = (uint32_t)chosen;
  uint32_t pc = w.fragments[w.current].pc;
  uint32_t active = w.fragments[w.current].mask;
  bool fresh = true; // just scheduled: do not ask again at this leader

  for (;;) {
    const Op &op = code[pc];
    if (op.isLeader) {
      if (w.fragments.size() > 1 && !fresh) {
        w.fragments[w.current].pc = pc;
        chosen = schedule(w);
        w.current = (uint32_t)chosen;
        pc = w.fragments[w.current].pc;
        active = w.fragments[w.current].mask;
        fresh = true;
        continue;
      }
      if (w.executed >= end) {
        w.fragments[w.current].pc = pc;
        return Stop::Quantum;
      }
    }
    fresh = false;
    ++w.executed;
    uint32_t mask = active;
    if (op.guard != NoSlot) {
      uint32_t p = *w.src<uint32_t>(op.guard);
      mask &= op.guardNegated ? ~p : p;
    }
    ++counts[pc].issues;
    counts[pc].lanes += (unsigned)__builtin_popcount(mask);

    if (op.control == Control::None) {
      if (mask) {
        w.mask = mask;
        op.run(op, w);
      }
      ++pc;
      continue;
    }

    Fragment &f = w.fragments[w.current];
    switch (op.control) {
    case Control::None:
      break;

    case Control::Branch: {
      if (!(op.flags & 1))
        ++worker.counters.branches;
      bool backward = op.rank >= code[op.target].rank;
      if (mask == active) {
        if (backward && checkSpin(w, pc)) {
          f.pc = op.target;
          f.state = Fragment::Spinning;
          w.parked.insert(w.parked.end(), w.watched.begin(), w.watched.end());
          w.spin = SpinState();
          goto reschedule;
        }
        pc = op.target;
      } else if (mask == 0) {
        ++pc;
      } else {
        ++worker.counters.divergentBranches;
        Fragment other = f;
        other.mask = mask;
        other.pc = op.target;
        f.mask = active & ~mask;
        f.pc = pc + 1;
        if (backward)
          checkSpin(w, pc);
        w.fragments.push_back(other);
        goto reschedule;
      }
      continue;
    }

    case Control::BranchTable: {
      ++worker.counters.branches;
      const std::vector<uint32_t> &targets = program.branchTables[op.target];
      const uint32_t *index = w.src<uint32_t>(op.a);
      uint32_t left = mask;
      std::vector<Fragment> pieces;
      while (left) {
        unsigned i = (unsigned)__builtin_ctz(left);
        uint32_t same = 0;
        for (uint32_t k = left; k; k &= k - 1)
          if (index[__builtin_ctz(k)] == index[i])
            same |= 1u << __builtin_ctz(k);
        left &= ~same;
        Fragment piece = f;
        piece.mask = same;
        if (index[i] < targets.size()) {
          piece.pc = targets[index[i]];
          pieces.push_back(piece);
        } else {
          w.mask = same;
          report(w, op, FindingKind::Trap, i,
                 "brx.idx with an index beyond its table");
          worker.launch->stop = true;
          return Stop::Trapped;
        }
      }
      if (pieces.size() > 1)
        ++worker.counters.divergentBranches;
      w.fragments[w.current] = pieces[0];
      w.fragments.insert(w.fragments.end(), pieces.begin() + 1, pieces.end());
      goto reschedule;
    }

    case Control::Call: {
      if (mask == 0) {
        ++pc;
        continue;
      }
      w.mask = mask;
      copyParameters(w, program.calls[(size_t)op.imm].before);
      if (mask != active) {
        Fragment rest = f;
        rest.mask = active & ~mask;
        rest.pc = pc + 1;
        w.fragments.push_back(rest);
      }
      Fragment &caller = w.fragments[w.current];
      caller.mask = mask;
      caller.stack[caller.depth++] = pc;
      caller.pc = op.target;
      goto reschedule;
    }

    case Control::Return: {
      if (mask == 0) {
        ++pc;
        continue;
      }
      w.mask = mask;
      uint32_t site = f.stack[f.depth - 1];
      copyParameters(w, program.calls[(size_t)code[site].imm].after);
      if (mask != active) {
        Fragment rest = f;
        rest.mask = active & ~mask;
        rest.pc = pc + 1;
        w.fragments.push_back(rest);
      }
      Fragment &returning = w.fragments[w.current];
      returning.mask = mask;
      --returning.depth;
      returning.pc = site + 1;
      goto reschedule;
    }

    case Control::Exit:
      if (mask == 0) {
        ++pc;
        continue;
      }
      w.live &= ~mask;
      w.block->liveThreads -= (uint32_t)__builtin_popcount(mask);
      ++w.effects;
      f.mask = active & ~mask;
      f.pc = pc + 1;
      if (f.mask == 0)
        w.fragments.erase(w.fragments.begin() + (long)w.current);
      // Whoever waited for these lanes need not any more.
      for (Fragment &other : w.fragments)
        if (other.state == Fragment::Converging)
          other.state = Fragment::Ready;
      goto reschedule;

    case Control::Convergent: {
      if (mask == 0) {
        ++pc;
        continue;
      }
      w.mask = mask;
      uint32_t wanted = wantedLanes(w, op, mask);
      uint32_t missing = wanted & ~mask;
      if (missing && w.fragments.size() > 1 && !w.forced) {
        // Not counted until it happens.
        --counts[pc].issues;
        counts[pc].lanes -= (unsigned)__builtin_popcount(mask);
        --w.executed;
        f.pc = pc;
        f.state = Fragment::Converging;
        goto reschedule;
      }
      w.forced = false;
      if (missing) {
        f.pc = pc;
        giveUpWaiting(w, f);
      }
      checkMembership(w, op);
      op.run(op, w);
      ++pc;
      continue;
    }

    case Control::Barrier: {
      if (mask == 0) {
        ++pc;
        continue;
      }
      w.mask = mask;
      if (op.aligned && mask != w.live && w.fragments.size() > 1 && !w.forced) {
        --counts[pc].issues;
        counts[pc].lanes -= (unsigned)__builtin_popcount(mask);
        --w.executed;
        f.pc = pc;
        f.state = Fragment::Converging;
        goto reschedule;
      }
      w.forced = false;
      if (op.aligned && mask != w.initial) {
        f.pc = pc;
        giveUpWaiting(w, f);
      }
      if (mask != active) { // a guard that is not the same for all lanes
        Fragment rest = f;
        rest.mask = active & ~mask;
        rest.pc = pc + 1;
        w.fragments.push_back(rest);
      }
      Fragment &arriving = w.fragments[w.current];
      arriving.mask = mask;
      arriving.pc = pc;
      arriveAtBarrier(w, arriving, op);
      goto reschedule;
    }

    case Control::Trap:
      if (mask == 0) {
        ++pc;
        continue;
      }
      w.mask = mask;
      trapFinding(w, op);
      worker.launch->stop = true;
      return Stop::Trapped;
    }

  reschedule:
    chosen = schedule(w);
    if (chosen < 0) {
      if (w.fragments.empty())
        return Stop::Exited;
      // Lanes that wait for lanes which wait elsewhere wait in vain, unless a
      // barrier or another warp may set those free.
      bool onlyConverging = true;
      for (const Fragment &o : w.fragments)
        onlyConverging &= o.state == Fragment::Converging;
      if (!onlyConverging)
        return Stop::Blocked;
      size_t first = 0;
      for (size_t i = 1; i < w.fragments.size(); ++i)
        if (compareFragments(program, w.fragments[i], w.fragments[first]) < 0)
          first = i;
      w.fragments[first].state = Fragment::Ready;
      w.forced = true;
      chosen = (int)first;
    }
    w.current = (uint32_t)chosen;
    pc = w.fragments[w.current].pc;
    active = w.fragments[w.current].mask;
    fresh = true;
    if (w.executed >= end) {
      w.fragments[w.current].pc = pc;
      return Stop::Quantum;
    }
  }
}

} // namespace lockstitch::simulator
