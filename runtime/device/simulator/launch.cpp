//===- launch.cpp - runs a grid -------------------------------------------===//
//
// Blocks are taken in the seed's order by one or more workers. A block of which
// every warp waits for another block's word is set aside, with its registers
// and its shared memory, and another one started; up to as many as the GPU
// would hold at once. When all of those wait and no word changes, the launch is
// deadlocked.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/simulator/interpreter.h"
#include "runtime/device/simulator/module.h"
#include "runtime/program/thread_start.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>
#include <tuple>

namespace lockstitch::simulator {

namespace {

/// A permutation of [0, n) that needs no table: a four-round Feistel network on
/// the next power of four, walked until it falls inside.
class Permutation {
public:
  Permutation(uint64_t n, uint64_t seed) : N(n), Seed(seed) {
    while ((uint64_t(1) << (2 * HalfBits)) < n)
      ++HalfBits;
  }
  uint64_t operator()(uint64_t i) const {
    if (Seed == 0 || N <= 1)
      return i;
    do
      i = once(i);
    while (i >= N);
    return i;
  }

private:
  uint64_t once(uint64_t x) const {
    uint64_t mask = (uint64_t(1) << HalfBits) - 1;
    uint64_t left = x >> HalfBits, right = x & mask;
    for (uint64_t round = 1; round <= 4; ++round) {
      uint64_t f = (right + Seed * round) * 0x9E3779B97F4A7C15ull;
      f = (f ^ f >> 29) * 0xBF58476D1CE4E5B9ull;
      uint64_t next = left ^ (f >> 32 & mask);
      left = right;
      right = next;
    }
    return left << HalfBits | right;
  }
  uint64_t N, Seed;
  unsigned HalfBits = 1;
};

class Launcher {
public:
  Launcher(const Module &module, const Program &program, Memory &memory,
           const LaunchConfig &config)
      : Impl(module.implementation()), P(program), M(memory), Config(config) {
    State.program = &program;
    State.module = Impl.parsed.get();
    State.memory = &memory;
    State.config = &Config;
    State.limits =
        config.target ? config.target : targetLimits(Impl.parsed->target);
    State.checks = config.checks;
  }
  LaunchResult run(const std::vector<Argument> &arguments);

private:
  bool fail(const std::string &message) {
    Result.error.message = message;
    return false;
  }
  bool checkArguments(const std::vector<Argument> &arguments);
  bool checkLimits();
  bool placeVariables();
  void limit(const std::string &message) {
    Finding f;
    f.kind = FindingKind::Limit;
    f.message = message;
    Result.findings.push_back(std::move(f));
  }
  void runAll();
  void runSampled();
  void work(Worker &worker, const std::vector<uint32_t> *blocks);
  std::unique_ptr<Worker> newWorker();
  void collect(Worker &worker, uint64_t times, uint64_t of);
  void finish();

  const Module::Implementation &Impl;
  const Program &P;
  Memory &M;
  LaunchConfig Config;
  LaunchState State;
  LaunchResult Result;
  uint64_t Blocks = 0, Resident = 0;
  uint32_t Threads = 0;
  std::vector<OpCount> Ops;
  std::vector<AccessCounters> Accesses;
  std::map<FindingKey, Finding> Findings;
  std::atomic<unsigned> Idle{0};
  std::atomic<bool> Deadlocked{false};
  unsigned NumWorkers = 1;
  std::vector<ShadowPage *> Touched;
};

bool Launcher::checkArguments(const std::vector<Argument> &arguments) {
  if (arguments.size() != P.parameters.size())
    return fail("kernel '" + P.name + "' takes " +
                std::to_string(P.parameters.size()) + " arguments, not " +
                std::to_string(arguments.size()));
  State.parameters.assign(P.parameterBytes, 0);
  State.ranges.resize(arguments.size());
  State.pointers.assign(arguments.size(), 0);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Parameter &p = P.parameters[i];
    const Argument &a = arguments[i];
    if (a.bytes.size() != p.bytes)
      return fail("argument " + std::to_string(i) + " of '" + P.name +
                  "' has " + std::to_string(p.bytes) + " bytes, not " +
                  std::to_string(a.bytes.size()));
    if (p.bytes)
      std::memcpy(State.parameters.data() + p.offset, a.bytes.data(), p.bytes);
    if (p.bytes == 8)
      std::memcpy(&State.pointers[i], a.bytes.data(), 8);
    LaunchState::Range &r = State.ranges[i];
    r.present = a.hasTensor && i < 63;
    r.address = a.tensor.address;
    r.bytes = a.tensor.bytes;
    r.readOnly = a.tensor.readOnly;
    r.name = a.tensor.name;
    r.argument = (int32_t)i;
  }
  State.accessRange.assign(P.accesses.size(), nullptr);
  for (const MemoryAccess &m : P.accesses) {
    uint64_t bits = m.arguments;
    if (bits == 0 || (bits & (bits - 1)) != 0)
      continue;
    const LaunchState::Range &r = State.ranges[(size_t)__builtin_ctzll(bits)];
    if (r.present && Config.checks)
      State.accessRange[m.index] = &r;
  }
  return true;
}

bool Launcher::checkLimits() {
  uint64_t threads = 1;
  Blocks = 1;
  for (int i = 0; i < 3; ++i) {
    if (Config.grid[i] == 0 || Config.block[i] == 0)
      return fail("a grid or a block has no extent");
    threads *= std::min<uint64_t>(Config.block[i], 1u << 20);
    Blocks *= Config.grid[i];
    if (Blocks > UINT32_MAX)
      return fail("grids of 2^32 blocks and more are not supported");
  }
  const TargetLimits *l = State.limits;
  uint32_t most = l ? l->threadsPerBlock : 1024;
  if (threads > most || Config.block[0] > 1024 || Config.block[1] > 1024 ||
      Config.block[2] > 64)
    limit("a block of " + std::to_string(Config.block[0]) + "x" +
          std::to_string(Config.block[1]) + "x" +
          std::to_string(Config.block[2]) + " threads exceeds the limit (" +
          std::to_string(most) + " threads, 1024x1024x64)");
  if (Config.grid[1] > 65535 || Config.grid[2] > 65535 ||
      Config.grid[0] > 0x7FFFFFFFu)
    limit("the grid exceeds 2147483647x65535x65535 blocks");
  uint64_t maximum = (uint64_t)P.maxThreads[0] * std::max(1u, P.maxThreads[1]) *
                     std::max(1u, P.maxThreads[2]);
  if (maximum && threads > maximum)
    limit("a block of " + std::to_string(threads) +
          " threads exceeds the kernel's .maxntid of " +
          std::to_string(maximum));
  if (P.requiredThreads[0] &&
      !std::equal(Config.block, Config.block + 3, P.requiredThreads))
    limit("the block is not of the kernel's .reqntid");
  uint64_t shared = (uint64_t)P.staticShared + Config.sharedBytes;
  if (l && shared > l->sharedPerBlock)
    limit("a block needs " + std::to_string(shared) +
          " bytes of shared memory; " + std::string(l->name) + " has " +
          std::to_string(l->sharedPerBlock));
  if (shared > (1u << 24))
    return fail("too much shared memory");
  Threads = (uint32_t)threads;
  State.sharedBytes = (uint32_t)shared;
  State.warpsPerBlock = (Threads + 31) / 32;
  Result.sharedBytes = State.sharedBytes;
  Result.registersPerThread = Config.registersPerThread
                                  ? Config.registersPerThread
                                  : P.registerEstimate;
  if (l && Result.registersPerThread > l->registersPerThread)
    limit("the kernel needs " + std::to_string(Result.registersPerThread) +
          " registers per thread");
  Resident = Blocks;
  if (l) {
    Result.occupancy = occupancy(*l, Blocks, Threads, Result.registersPerThread,
                                 State.sharedBytes, P.loadBytesInFlight);
    Resident = (uint64_t)Result.occupancy.blocksPerSm * l->multiprocessors;
    if (Config.cooperative && Result.findings.empty() && Blocks > Resident)
      limit("a cooperative launch of " + std::to_string(Blocks) + " blocks; " +
            std::to_string(Resident) + " fit on " + std::string(l->name));
  }
  return Result.findings.empty();
}

/// Module variables live in the memory from the first launch on.
bool Launcher::placeVariables() {
  auto &places = M.moduleVariables[Impl.id];
  std::vector<const Variable *> fresh;
  for (const SymbolConstant &s : P.symbols)
    if (!places.count(s.name)) {
      // All at once: initialisers name each other.
      for (const Variable &v : Impl.parsed->variables)
        if ((v.space == StateSpace::Global || v.space == StateSpace::Const) &&
            !places.count(std::string(v.name))) {
          if (v.isExtern) {
            if (v.name == s.name)
              return fail("variable '" + s.name + "' is not defined here");
            continue;
          }
          std::string name(v.name);
          if (v.space == StateSpace::Const)
            name = ".const " + name;
          uint64_t address = M.allocate(v.bytes, name);
          if (!address)
            return fail("no memory for variable '" + s.name + "'");
          places[std::string(v.name)] = address;
          fresh.push_back(&v);
        }
    }
  for (const Variable *v : fresh) {
    uint64_t address = places[std::string(v->name)];
    char *host = static_cast<char *>(M.hostPointer(address, v->bytes));
    std::memset(host, 0, v->bytes);
    std::copy_n(v->data.begin(), std::min<uint64_t>(v->data.size(), v->bytes),
                host);
    for (const Variable::Fixup &f : v->fixups) {
      auto it = places.find(std::string(f.symbol));
      if (it == places.end())
        return fail("unknown name '" + std::string(f.symbol) +
                    "' in an initialiser");
      uint64_t value = it->second + (uint64_t)f.addend;
      if (f.offset + 8 <= v->bytes)
        std::memcpy(host + f.offset, &value, 8);
    }
    M.markInitialised(address, v->bytes);
    if (v->space == StateSpace::Const)
      M.setReadOnly(address, true);
  }
  for (const SymbolConstant &s : P.symbols) {
    auto it = places.find(s.name);
    if (it == places.end())
      return fail("variable '" + s.name + "' is not defined here");
    State.symbolAddresses.push_back(it->second + (uint64_t)s.offset);
  }
  return true;
}

std::unique_ptr<Worker> Launcher::newWorker() {
  auto worker = std::make_unique<Worker>();
  worker->launch = &State;
  worker->ops.resize(P.ops.size());
  worker->accesses.resize(P.accesses.size());
  worker->lastAllocation.resize(P.accesses.size());
  return worker;
}

void Launcher::work(Worker &worker, const std::vector<uint32_t> *blocks) {
  Permutation order(Blocks, Config.seed);
  std::vector<std::unique_ptr<Block>> waiting;
  uint64_t residentHere = std::max<uint64_t>(1, Resident / NumWorkers);
  auto takeBlock = [&] {
    std::unique_ptr<Block> block;
    if (!worker.pool.empty()) {
      block = std::move(worker.pool.back());
      worker.pool.pop_back();
    } else {
      block = std::make_unique<Block>();
      block->worker = &worker;
      block->launch = &State;
    }
    return block;
  };
  bool exhausted = false;
  while (!State.stop.load(std::memory_order_relaxed)) {
    std::unique_ptr<Block> block;
    // Those that may go on come first: it frees their place.
    for (size_t i = 0; i < waiting.size() && !block; ++i)
      if (wakeBlock(*waiting[i])) {
        block = std::move(waiting[i]);
        waiting.erase(waiting.begin() + (long)i);
      }
    if (!block && !exhausted && waiting.size() < residentHere) {
      uint64_t next = State.nextBlock.fetch_add(1, std::memory_order_relaxed);
      uint64_t count = blocks ? blocks->size() : Blocks;
      if (next < count) {
        block = takeBlock();
        startBlock(*block, blocks ? (*blocks)[next] : (uint32_t)order(next));
      } else {
        exhausted = true;
      }
    }
    if (!block) {
      if (waiting.empty())
        break;
      if (NumWorkers > 1 && !Deadlocked) {
        // Another worker may yet write what we wait for.
        bool woke = false;
        ++Idle;
        for (int quiet = 0; quiet < 50 && !woke && !State.stop;) {
          std::this_thread::sleep_for(std::chrono::microseconds(100));
          for (auto &w : waiting)
            woke |= wakeBlock(*w);
          quiet = Idle == NumWorkers ? quiet + 1 : 0;
        }
        --Idle;
        if (woke)
          continue;
      }
      for (size_t i = 0; i < waiting.size() && !block; ++i)
        if (forceBlock(*waiting[i])) {
          block = std::move(waiting[i]);
          waiting.erase(waiting.begin() + (long)i);
        }
    }
    if (!block) {
      for (auto &w : waiting)
        reportDeadlock(*w);
      Deadlocked = true;
      State.stop = true;
      break;
    }
    switch (runBlock(*block)) {
    case BlockState::Finished:
      worker.pool.push_back(std::move(block));
      break;
    case BlockState::Waiting:
      waiting.push_back(std::move(block));
      break;
    case BlockState::Stopped:
      break;
    }
  }
  ++Idle; // as far as others are concerned, for good
}

void Launcher::runAll() {
  unsigned threads =
      Config.threads ? Config.threads : std::thread::hardware_concurrency();
  bool alone = Config.cooperative || P.usesGlobalAtomics || P.mayOrder ||
               P.hasPartialBarriers; // their sets of readers are shared
  NumWorkers = alone ? 1
                     : (unsigned)std::clamp<uint64_t>(
                           std::min<uint64_t>(threads, Blocks), 1, 256);
  State.multithreaded = NumWorkers > 1;
  std::vector<std::unique_ptr<Worker>> workers;
  for (unsigned i = 0; i < NumWorkers; ++i)
    workers.push_back(newWorker());
  std::vector<std::thread> pool;
  for (unsigned i = 1; i < NumWorkers; ++i)
    pool.emplace_back([&, i] {
      enterThread();
      work(*workers[i], nullptr);
    });
  work(*workers[0], nullptr);
  for (std::thread &t : pool)
    t.join();
  for (auto &worker : workers)
    collect(*worker, 1, 1);
  Result.blocksRun = Blocks;
}

/// A few blocks of each class: first, inner and last along each axis.
void Launcher::runSampled() {
  Result.sampled = true;
  std::vector<std::vector<uint32_t>> picks(1);
  auto rangesOf = [&](int axis) {
    uint32_t n = Config.grid[axis];
    std::vector<std::pair<uint32_t, uint32_t>> r{{0, 1}};
    if (n > 2)
      r.push_back({1, n - 1});
    if (n > 1)
      r.push_back({n - 1, n});
    return r;
  };
  for (auto z : rangesOf(2))
    for (auto y : rangesOf(1))
      for (auto x : rangesOf(0)) {
        uint64_t nx = x.second - x.first, ny = y.second - y.first,
                 nz = z.second - z.first, size = nx * ny * nz;
        uint64_t n = std::min<uint64_t>(size, Config.sampleBlocksPerClass);
        std::vector<uint32_t> blocks;
        for (uint64_t i = 0; i < n; ++i) {
          uint64_t k = i * size / n; // evenly spread
          uint64_t bx = x.first + k % nx, by = y.first + k / nx % ny,
                   bz = z.first + k / nx / ny;
          blocks.push_back(
              (uint32_t)((bz * Config.grid[1] + by) * Config.grid[0] + bx));
        }
        auto worker = newWorker();
        State.nextBlock = 0;
        work(*worker, &blocks);
        collect(*worker, size, n);
        Result.blocksRun += n;
      }
}

void Launcher::collect(Worker &worker, uint64_t times, uint64_t of) {
  auto scale = [&](uint64_t v) { return v * times / of; };
  Counters c = worker.counters;
  if (times != of) {
    // All fields are counts of 64 bits.
    static_assert(sizeof(Counters) % 8 == 0);
    uint64_t *words = reinterpret_cast<uint64_t *>(&c);
    for (size_t i = 0; i < sizeof(Counters) / 8; ++i)
      words[i] = scale(words[i]);
  }
  Result.counters.add(c);
  Ops.resize(worker.ops.size());
  Accesses.resize(worker.accesses.size());
  for (size_t i = 0; i < Ops.size(); ++i) {
    Ops[i].issues += scale(worker.ops[i].issues);
    Ops[i].lanes += scale(worker.ops[i].lanes);
  }
  for (size_t i = 0; i < Accesses.size(); ++i) {
    Accesses[i].sectors += scale(worker.accesses[i].sectors);
    Accesses[i].ideal += scale(worker.accesses[i].ideal);
    Accesses[i].wavefronts += scale(worker.accesses[i].wavefronts);
    Accesses[i].conflicts += scale(worker.accesses[i].conflicts);
  }
  for (auto &[key, finding] : worker.findings) {
    auto [it, isNew] = Findings.try_emplace(key, finding);
    if (isNew)
      continue;
    uint64_t total = it->second.occurrences + finding.occurrences;
    auto place = [](const Finding &f) {
      return std::array<uint32_t, 6>{f.block[2],  f.block[1],  f.block[0],
                                     f.thread[2], f.thread[1], f.thread[0]};
    };
    if (place(finding) < place(it->second))
      it->second = finding;
    it->second.occurrences = total;
  }
  Touched.insert(Touched.end(), worker.touched.begin(), worker.touched.end());
}

void Launcher::finish() {
  Counters &c = Result.counters;
  std::map<std::pair<uint32_t, uint32_t>, LineCounters> lines;
  uint32_t previous = ~0u;
  for (size_t i = 0; i < Ops.size(); ++i) {
    const Op &op = P.ops[i];
    // One instruction may have become several ops: the first one counts.
    bool first = op.source != previous;
    previous = op.source;
    const Place &place = P.places[op.source];
    if (first) {
      c.warpInstructions += Ops[i].issues;
      c.threadInstructions += Ops[i].lanes;
      c.warpByClass[(size_t)op.kind] += Ops[i].issues;
      c.threadByClass[(size_t)op.kind] += Ops[i].lanes;
    }
    if (!Config.perLine || (op.control == Control::Exit && !Ops[i].issues))
      continue; // the exit at the end that the text need not have
    LineCounters &line = lines[{place.line, op.source}];
    line.line = place.line;
    line.opcode = std::string(place.opcode);
    line.sourceLine = place.sourceLine;
    if (first) {
      line.warpInstructions += Ops[i].issues;
      line.threadInstructions += Ops[i].lanes;
    }
    if (op.access != NoAccess) {
      const AccessCounters &a = Accesses[op.access];
      line.sectors += a.sectors;
      line.idealSectors += a.ideal;
      line.wavefronts += a.wavefronts;
      line.conflicts += a.conflicts;
    }
  }
  for (auto &[key, line] : lines)
    Result.lines.push_back(std::move(line));
  for (const ShadowPage *page : Touched) {
    uint64_t read = 0, written = 0;
    for (uint32_t cell : page->readers)
      read += cell != 0;
    for (uint32_t cell : page->writers)
      written += cell != 0;
    c.uniqueBytesRead += read << page->shift;
    c.uniqueBytesWritten += written << page->shift;
  }
  std::map<std::tuple<uint32_t, FindingKind, uint32_t>, Finding> sorted;
  for (auto &[key, finding] : Findings)
    sorted[{finding.ptxLine, finding.kind, key.op}] = std::move(finding);
  for (auto &[key, finding] : sorted)
    Result.findings.push_back(std::move(finding));
  Result.raceCheckComplete = !State.table->overflowed;
}

LaunchResult Launcher::run(const std::vector<Argument> &arguments) {
  if (!checkArguments(arguments) || !checkLimits() || !placeVariables())
    return std::move(Result);
  std::lock_guard<std::mutex> lock(M.launchMutex());
  State.table = &M.accessTable();
  State.table->reset();
  State.serial = M.nextLaunch();
  if (Config.cooperative) {
    State.gridWorkspace = M.allocate(64, "grid barrier");
    if (void *p = M.hostPointer(State.gridWorkspace, 64))
      std::memset(p, 0, 64);
    M.markInitialised(State.gridWorkspace, 64);
  }
  if (Config.sampleBlocksPerClass)
    runSampled();
  else
    runAll();
  finish();
  if (State.gridWorkspace)
    M.free(State.gridWorkspace);
  return std::move(Result);
}

} // namespace

LaunchResult launch(const Module &module, const std::string &kernel,
                    Memory &memory, const std::vector<Argument> &arguments,
                    const LaunchConfig &config) {
  LaunchResult result;
  const Program *program =
      module.implementation().program(kernel, result.error);
  if (!program)
    return result;
  return Launcher(module, *program, memory, config).run(arguments);
}

} // namespace lockstitch::simulator
