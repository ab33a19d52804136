// Reads must follow writes. For each memory that a run writes, the bytes
// written so far are kept as a set of disjoint intervals; a step's inputs must
// lie in it, then its outputs are added. (One tensor may be written by several
// steps, piece by piece, and read as a whole.)
//
// Of a program with open sizes everything is checked but what needs their
// values; that is checked when it is bound and all sizes are numbers.
//
// A loop is gone through trip by trip, with the ranges that each trip has. Of a
// very long one only the first trips and the last are, and what the trips in
// between write is taken as written; that every range of every trip lies within
// its memory is checked always.
#include "runtime/program/validate.h"

#include "runtime/program/bind.h"

#include <iterator>
#include <map>

namespace lockstitch {
namespace {

using Space = BufferRef::Space;

constexpr int64_t kMostTrips = int64_t{1} << 40; // of a nest of loops
constexpr size_t kMostLoops = 32;                // in each other
constexpr int64_t kTripsChecked = 1 << 16; // launches: all trips up to here

/// Disjoint intervals, begin -> end.
class ByteSet {
public:
  void add(int64_t begin, int64_t end) {
    if (begin >= end)
      return;
    auto it = ranges.lower_bound(begin);
    if (it != ranges.begin() && std::prev(it)->second >= begin)
      --it;
    while (it != ranges.end() && it->first <= end) {
      begin = std::min(begin, it->first);
      end = std::max(end, it->second);
      it = ranges.erase(it);
    }
    ranges[begin] = end;
  }
  bool covers(int64_t begin, int64_t end) const {
    if (begin >= end)
      return true;
    auto it = ranges.upper_bound(begin);
    return it != ranges.begin() && std::prev(it)->second >= end;
  }

private:
  std::map<int64_t, int64_t> ranges;
};

const char *spaceName(Space space) {
  switch (space) {
  case Space::Input:
    return "input";
  case Space::Output:
    return "output";
  case Space::Constant:
    return "constant";
  case Space::Arena:
    return "arena";
  case Space::Workspace:
    return "workspace";
  }
  return "unknown space";
}

std::string print(const BufferRef &ref) {
  return std::string(spaceName(ref.space)) + " " + std::to_string(ref.index) +
         " [" + toString(ref.offset) + ", +" + toString(ref.bytes) + ")";
}

bool isOpen(const TensorInfo &info) {
  for (const Dim &extent : info.shape)
    if (!extent.isConstant())
      return true;
  return false;
}

bool isOpen(const BufferRef &ref) {
  return !ref.offset.isConstant() || !ref.bytes.isConstant();
}

/// Whether a size lies in [low, high], as far as it is known.
bool within(const Dim &size, int64_t low, int64_t high) {
  return !size.isConstant() || (size.value() >= low && size.value() <= high);
}

class Validator {
public:
  explicit Validator(const Program &program)
      : program(program), isOpenProgram(hasOpenSizes(program)) {}

  /// The first contradiction; empty reason if there is none.
  ErrorMessage run() {
    if (tensors() && (program.targets.empty() ? true : targets()))
      return {};
    return {"", where, reason, ""};
  }

private:
  bool fail(std::string text) {
    reason = std::move(text);
    return false;
  }

  bool tensors() {
    where = "program";
    if (program.symbols.size() > size_t{kMostSymbols} ||
        program.symbols.equalities().size() > size_t{kMostSymbols})
      return fail("it has more than " + std::to_string(kMostSymbols) +
                  " symbols or equalities");
    bool good = true;
    visitSizes(program, [&](const Dim &size) {
      good &= !size.isInvalid();
      if (!size.isConstant())
        for (uint32_t id : size.symbols())
          good &= id < program.symbols.size();
    });
    if (!good)
      return fail("a size mentions a symbol that is not there, or leaves 64 "
                  "bits");
    for (auto [list, what] : {std::pair(&program.inputs, "input"),
                              {&program.outputs, "output"},
                              {&program.constantInfos, "constant"}})
      for (const TensorInfo &info : *list) {
        if (static_cast<int>(info.type) >= kNumElementTypes)
          return fail(std::string(what) + " '" + info.name +
                      "' has an unknown element type");
        if (isOpen(info) ? list == &program.constantInfos
                         : checkedBytes(info) < 0)
          return fail(std::string(what) + " '" + info.name +
                      "' has an impossible shape");
      }
    if (program.constants.size() != program.constantInfos.size())
      return fail("it has " + std::to_string(program.constants.size()) +
                  " constants but describes " +
                  std::to_string(program.constantInfos.size()));
    for (size_t i = 0; i < program.constants.size(); ++i)
      if (size_t bytes = program.constants[i].bytes.size();
          bytes &&
          static_cast<int64_t>(bytes) != program.constantInfos[i].bytes())
        return fail("constant '" + program.constantInfos[i].name + "' has " +
                    std::to_string(bytes) + " bytes instead of " +
                    std::to_string(program.constantInfos[i].bytes()));
    return true;
  }

  bool targets() {
    for (const TargetProgram &candidate : program.targets) {
      target = &candidate;
      where = "target " + target->target;
      if (!within(target->arenaBytes, 0, INT64_MAX) ||
          !within(target->workspaceBytes, 0, INT64_MAX))
        return fail("negative memory size");
      for (const KernelCode &kernel : target->kernels)
        if (!checkKernel(kernel))
          return false;
      written.clear();
      inPrologue = true;
      if (!checkSteps(target->prologue))
        return false;
      for (auto it = written.begin();
           it != written.end();) // the prologue's arena is gone
        it = it->first.first == Space::Constant ? std::next(it)
                                                : written.erase(it);
      inPrologue = false;
      if (!checkSteps(target->steps) || !checkOutputs())
        return false;
    }
    return true;
  }

  bool checkKernel(const KernelCode &kernel) {
    bool ok = within(kernel.rows, 0, INT64_MAX) && kernel.rowsPerTask >= 1 &&
              within(kernel.scratchBytes, 0, (int64_t{1} << 40) - 1) &&
              within(kernel.sharedBytes, 0, (int64_t{1} << 31) - 1);
    for (const Dim &extent : kernel.grid)
      ok &= within(extent, 1, (int64_t{1} << 31) - 1);
    for (int64_t extent : kernel.block)
      ok &= extent >= 1 && extent <= 1024;
    for (const KernelArgument &argument : kernel.arguments)
      ok &= static_cast<int>(argument.type) < kNumElementTypes &&
            within(argument.elements, 0, (int64_t{1} << 59) - 1);
    return ok || fail("kernel '" + kernel.symbol +
                      "' has an impossible launch shape, scratch or argument");
  }

  /// Size of a memory; -1 if there is none of that index.
  Dim sizeOf(const BufferRef &ref) const {
    auto at = [&](const std::vector<TensorInfo> &list) -> Dim {
      return ref.index < list.size() ? bytesOf(list[ref.index]) : Dim(-1);
    };
    switch (ref.space) {
    case Space::Input:
      return at(program.inputs);
    case Space::Output:
      return at(program.outputs);
    case Space::Constant:
      return at(program.constantInfos);
    case Space::Arena:
      return ref.index == 0 ? target->arenaBytes : Dim(-1);
    case Space::Workspace:
      return ref.index == 0 ? target->workspaceBytes : Dim(-1);
    }
    return -1;
  }

  /// First and last place that a range takes in any trip of the loops from
  /// `depth` on.
  struct Extent {
    __int128 low, high;
  };
  Extent extentOf(const BufferRef &ref, size_t depth = 0) const {
    Extent extent{ref.offset.value(), ref.offset.value()};
    for (const TripStride &stride : ref.trips) {
      if (stride.depth < depth)
        continue;
      __int128 last = stride.period ? stride.period - 1
                                    : loops[stride.depth].trips - 1,
               far = last * stride.bytes;
      (far < 0 ? extent.low : extent.high) += far;
    }
    return extent;
  }

  bool checkRange(const BufferRef &ref) {
    Dim memory = sizeOf(ref);
    if (memory == Dim(-1))
      return fail("no such memory: " + print(ref));
    if (!memory.isConstant() || isOpen(ref))
      return true;
    for (const TripStride &stride : ref.trips)
      if (stride.depth >= loops.size() || stride.phase < 0 ||
          stride.period < 0 || stride.phase > kMostTrips ||
          stride.period > kMostTrips)
        return fail("moves with a loop that is not there: " + print(ref));
    int64_t size = memory.value(), bytes = ref.bytes.value();
    Extent extent = extentOf(ref);
    if (extent.low < 0 || bytes < 0 || extent.high > size ||
        bytes > size - extent.high)
      return fail((ref.trips.empty() ? "outside its memory of "
                                     : "in some trip outside its memory of ") +
                  std::to_string(size) + " bytes: " + print(ref));
    return true;
  }

  /// The range in the current trips.
  BufferRef current(const BufferRef &ref) const {
    BufferRef range{ref.space, ref.index, ref.offset, ref.bytes};
    for (const TripStride &stride : ref.trips)
      range.offset = range.offset.value() + stride.at(loops[stride.depth].trip);
    return range;
  }

  bool isComputed(uint32_t constant) const {
    return program.constants[constant].bytes.empty() &&
           program.constantInfos[constant].bytes() > 0;
  }

  bool checkRead(const BufferRef &ref) {
    if (!checkRange(ref))
      return false;
    if (inPrologue && ref.space == Space::Input)
      return fail("the prologue reads an input: " + print(ref));
    bool mustBeWritten =
        ref.space == Space::Arena || ref.space == Space::Output ||
        (ref.space == Space::Constant && isComputed(ref.index));
    if (isOpenProgram)
      return true;
    BufferRef range = current(ref);
    if (mustBeWritten &&
        !written[{ref.space, ref.index}].covers(
            range.offset.value(), range.offset.value() + range.bytes.value()))
      return fail("reads bytes that no earlier step has written: " +
                  print(range));
    return true;
  }

  bool checkWrite(const BufferRef &ref) {
    if (!checkRange(ref))
      return false;
    bool allowed =
        ref.space == Space::Arena ||
        (ref.space == Space::Output && !inPrologue) ||
        (ref.space == Space::Workspace && !inPrologue) ||
        (ref.space == Space::Constant && inPrologue && isComputed(ref.index));
    if (!allowed)
      return fail(std::string(inPrologue ? "the prologue writes " : "writes ") +
                  print(ref));
    if (isOpenProgram)
      return true;
    BufferRef range = current(ref);
    written[{ref.space, ref.index}].add(
        range.offset.value(), range.offset.value() + range.bytes.value());
    return true;
  }

  bool checkSteps(const std::vector<Step> &steps) {
    for (const Step &step : steps) {
      where = "target " + target->target + ", step '" + step.name + "'";
      if (step.kind == Step::Kind::Loop ? !checkLoop(step) : !checkStep(step))
        return false;
    }
    where = "target " + target->target;
    return true;
  }

  static int64_t weight(const std::vector<Step> &steps) {
    int64_t sum = 0;
    forEachStep(steps, [&](const Step &, int64_t trips) { sum += trips; });
    return sum;
  }

  bool checkLoop(const Step &step) {
    __int128 all = step.trips;
    for (const auto &loop : loops)
      all *= loop.trips;
    if (step.trips < 1 || all > kMostTrips || loops.size() >= kMostLoops)
      return fail("makes an impossible number of trips");
    if (!step.args.empty())
      return fail("is a loop with arguments");
    loops.push_back({step.trips, 0});
    bool isShort =
        step.trips <= 4 || (all <= kTripsChecked &&
                            step.trips * weight(step.steps) <= kTripsChecked);
    for (int64_t trip = 0; trip < step.trips; ++trip) {
      if (!isShort && trip == 3) {
        addSkipped(step.steps);
        trip = step.trips - 1;
      }
      loops.back().trip = trip;
      if (!checkSteps(step.steps))
        return false;
    }
    loops.pop_back();
    return true;
  }

  /// What the trips between the first and the last write: ranges that follow
  /// each other without a gap.
  void addSkipped(const std::vector<Step> &steps) {
    if (isOpenProgram)
      return;
    for (const Step &step : steps) {
      for (size_t i = 0; i < step.args.size(); ++i) {
        const BufferRef &ref = step.args[i];
        if (!writes(step, i))
          continue;
        int64_t bytes = ref.bytes.value();
        bool dense = true;
        for (const TripStride &stride : ref.trips)
          dense &= stride.bytes <= bytes && -stride.bytes <= bytes;
        Extent extent = extentOf(ref);
        if (dense)
          written[{ref.space, ref.index}].add(
              static_cast<int64_t>(extent.low),
              static_cast<int64_t>(extent.high) + bytes);
      }
      addSkipped(step.steps);
    }
  }

  bool writes(const Step &step, size_t argument) const {
    return step.kind == Step::Kind::Launch
               ? target->kernels[step.kernel].arguments[argument].isOutput
               : argument + 1 == step.args.size();
  }

  bool checkStep(const Step &step) {
    size_t count;
    const KernelCode *kernel = nullptr;
    switch (step.kind) {
    case Step::Kind::Launch:
      if (step.kernel >= target->kernels.size())
        return fail("there is no kernel " + std::to_string(step.kernel));
      kernel = &target->kernels[step.kernel];
      count = kernel->arguments.size();
      break;
    case Step::Kind::Library:
      count = operandCount(step.library);
      break;
    case Step::Kind::Copy:
      count = 2;
      break;
    default:
      return fail("unknown kind of step");
    }
    if (!step.steps.empty())
      return fail("has steps but is no loop");
    if (step.args.size() != count)
      return fail("has " + std::to_string(step.args.size()) +
                  " arguments instead of " + std::to_string(count));
    if (step.kind == Step::Kind::Copy && !isOpen(step.args[0]) &&
        !isOpen(step.args[1]) && step.args[0].bytes != step.args[1].bytes)
      return fail("copies between ranges of different sizes");
    for (size_t i = 0; i < count; ++i) {
      Dim needed = step.args[i].bytes;
      if (kernel)
        needed = kernel->arguments[i].elements *
                 static_cast<int64_t>(byteSize(kernel->arguments[i].type));
      else if (step.kind == Step::Kind::Library)
        needed = operandBytes(step.library, i);
      if (!within(needed, 0, INT64_MAX))
        return fail(
            "the library call's sizes contradict each other or overflow");
      if (needed.isConstant() && !isOpen(step.args[i]) &&
          needed.value() > step.args[i].bytes.value())
        return fail("argument " + std::to_string(i) + " needs " +
                    toString(needed) + " bytes, but is " + print(step.args[i]));
      if (!writes(step, i) && !checkRead(step.args[i]))
        return false;
    }
    for (size_t i = 0; i < count; ++i)
      if (writes(step, i) && !checkWrite(step.args[i]))
        return false;
    return true;
  }

  bool checkOutputs() {
    if (!target->outputs.empty() &&
        target->outputs.size() != program.outputs.size())
      return fail("places " + std::to_string(target->outputs.size()) +
                  " outputs of " + std::to_string(program.outputs.size()));
    for (uint32_t i = 0; i < program.outputs.size(); ++i) {
      Dim bytes = bytesOf(program.outputs[i]);
      BufferRef ref{Space::Output, i, 0, bytes};
      if (!target->outputs.empty())
        ref = target->outputs[i];
      where = "target " + target->target + ", output '" +
              program.outputs[i].name + "'";
      if (ref.bytes.isConstant() && bytes.isConstant() && ref.bytes != bytes)
        return fail("has " + toString(bytes) + " bytes, but is " + print(ref));
      if (!checkRead(ref))
        return false;
    }
    return true;
  }

  /// Of any shape.
  static Dim bytesOf(const TensorInfo &info) {
    Dim bytes = static_cast<int64_t>(byteSize(info.type));
    for (const Dim &extent : info.shape)
      bytes = bytes * extent;
    return bytes;
  }

  const Program &program;
  const bool isOpenProgram;
  const TargetProgram *target = nullptr;
  bool inPrologue = false;
  struct Loop {
    int64_t trips, trip;
  };
  std::vector<Loop> loops; // around the current step
  std::map<std::pair<Space, uint32_t>, ByteSet> written;
  std::string where, reason;
};

} // namespace

int64_t checkedBytes(const TensorInfo &info) {
  int64_t bytes = static_cast<int64_t>(byteSize(info.type));
  bool empty = false, overflow = false;
  for (const Dim &dim : info.shape) {
    int64_t extent = dim.value();
    if (extent < 0)
      return -1;
    empty |= extent == 0;
    overflow |= extent != 0 && __builtin_mul_overflow(bytes, extent, &bytes);
  }
  if (overflow)
    return -1;
  return empty ? 0 : bytes;
}

Status validate(const Program &program) {
  ErrorMessage message = Validator(program).run();
  if (message.reason.empty())
    return {};
  return Error{ErrorKind::Internal, {std::move(message)}};
}

} // namespace lockstitch
