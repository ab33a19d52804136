// Refusal: why a set of primitives is not one kernel, in words and in figures.
#ifndef LOCKSTITCH_COMPILER_SCHEDULE_REFUSAL_H
#define LOCKSTITCH_COMPILER_SCHEDULE_REFUSAL_H

#include "compiler/graph/primitive_graph.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstitch {

/// What a figure of a decision counts. The names are part of the report's interface (docs/command_line.md).
enum class Figure : uint8_t {
  LaunchesSaved,        // by merging
  BytesSaved,           // read and written, device memory, by merging
  MicrosecondsOfA,      // estimated, of the kernel with the first of the two
  MicrosecondsOfB,      // ... with the second
  MicrosecondsTogether, // ... of both as one
  RecomputeFactor,      // evaluations of a value over its elements
  Members,              // primitives asked for
  MembersLimit,
  Operands, // inputs and outputs of the kernel
  OperandsLimit,
  Operations, // of the stage program
  OperationsLimit,
  Places, // at which values are needed
  PlacesLimit,
  Loops,
  LoopsLimit,
  SharedBytes, // of a block
  SharedBytesLimit,
  Blocks, // of the grid
  BlocksLimit,
};

/// "launches_saved", "us_a", ...
std::string_view key(Figure figure);
/// Is it a count, as opposed to a time or a ratio?
bool isWhole(Figure figure);

/// Figures in the order in which they were found; each at most once.
class Figures {
public:
  Figures() = default;
  Figures(std::initializer_list<std::pair<Figure, double>> list) : list(list) {}
  void set(Figure figure, double value) {
    for (auto &[known, old] : list)
      if (known == figure) {
        old = value;
        return;
      }
    list.push_back({figure, value});
  }
  void add(const Figures &more) {
    for (auto [figure, value] : more.list)
      set(figure, value);
  }
  auto begin() const { return list.begin(); }
  auto end() const { return list.end(); }
  bool empty() const { return list.empty(); }
  bool operator==(const Figures &) const = default;

private:
  std::vector<std::pair<Figure, double>> list;
};

struct Refusal {
  bool byProfit = false; // legal, but it would not pay
  std::string reason;
  Figures figures = {};
  /// The primitive whose node the reason begins with; a reason names no other node. (The planner tells it again of the same
  /// place in an equal kernel.)
  PrimitiveId about = kNone;
};

/// A primitive in a message: its node, or its own name where it has none.
std::string nodeOf(const PrimitiveGraph &graph, PrimitiveId id);

} // namespace lockstitch

#endif // LOCKSTITCH_COMPILER_SCHEDULE_REFUSAL_H
