// The price of a schedule: one launch in the cost model's terms, from what the stage program does.
//
//   bytes          every load and store of a stage, once per row. What does not vary with the row is read from memory once. What an
//                  earlier stage has read already costs 1/2.5 where the rows under way fit the L2 cache (a ratio of bandwidths of
//                  the kind that XLA's model assumes), else the same again.
//   coalescing     sectors of 32 bytes that a warp's accesses touch: one per element where neighbouring lanes are not neighbours in
//                  memory, one more per access where a row begins within a sector; rows past the end are read too
//   instructions   per thread: operations times elements, accesses, shuffles and barriers of the folds; elementary functions and
//                  divisions count as the sequences that they are
//   registers      a base, the tiles that live in registers, one vector per accumulator and per value in flight
//
// It ranks schedules of one kernel; it is no measurement.
#ifndef LOCKSTITCH_COMPILER_SCHEDULE_SCORE_SCHEDULE_H
#define LOCKSTITCH_COMPILER_SCHEDULE_SCORE_SCHEDULE_H

#include "compiler/schedule/kernel_cost.h"

#include <map>

namespace lockstitch {

struct ScheduleScore {
  cost::KernelShape shape;
  cost::Estimate estimate;
  bool operator==(const ScheduleScore &) const = default;
};

/// Scores schedules of one program; what depends on the vector width only is worked out once per width.
class ScheduleScorer {
public:
  ScheduleScorer(const StageProgram &program, const ScheduleTarget &target);

  ScheduleScore score(const KernelSchedule &schedule);

private:
  struct StageAccess {
    unsigned stage = 0;
    bool isStore = false, perRow = true; // does it vary with the row?
    bool isRepeated = false;             // an earlier stage has read the same
    bool touchesColumn = false, isContiguous = false, rowsAreNeighbours = false;
    int64_t elementBytes = 0;
    double times = 1; // per column, or per row if it does not touch the column
  };
  struct StageWork {
    double perElement = 0; // instructions for one column
    double perRow = 0;     // of the finish block
    int64_t accumulators = 0, inFlight = 0;
  };

  const std::vector<StageAccess> &accesses(unsigned width);
  void countWork();

  const StageProgram &program;
  const ScheduleTarget &target;
  std::vector<StageWork> work;
  std::map<unsigned, std::vector<StageAccess>> byWidth;
};

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_SCHEDULE_SCORE_SCHEDULE_H
