#include "compiler/schedule/kernel_schedule.h"

#include <charconv>
#include <set>
#include <sstream>

namespace lockstitch {
namespace {

constexpr TileSpace kSpaces[] = {TileSpace::Register, TileSpace::Shared,
                                 TileSpace::Scratch};

/// The words of a schedule's text, taken one by one.
class Words {
public:
  Words(std::string_view text, std::string &error)
      : in{std::string(text)}, error(error) {}

  /// The next word, if there is one that was not there before.
  bool key(std::string &word) {
    if (!error.empty() || !(in >> word))
      return false;
    if (!seen.insert(word).second) {
      error = "'" + word + "' is there twice";
      return false;
    }
    return true;
  }
  std::string argument(const std::string &key) {
    std::string word;
    if (!(in >> word))
      error = "'" + key + "' has no value";
    return word;
  }
  template <typename T> void number(const std::string &key, T &value, T least) {
    std::string word = argument(key);
    if (!error.empty())
      return;
    auto [end, failure] =
        std::from_chars(word.data(), word.data() + word.size(), value);
    if (failure != std::errc() || end != word.data() + word.size() ||
        value < least)
      error = "'" + key + "' needs a whole number from " +
              std::to_string(least) + " on, not '" + word + "'";
  }
  bool has(const char *key) const { return seen.count(key); }
  void both(const char *a, const char *b) {
    if (error.empty() && has(a) && has(b))
      error = "both '" + std::string(a) + "' and '" + b + "'";
  }

private:
  std::istringstream in;
  std::string &error;
  std::set<std::string> seen;
};

} // namespace

std::string_view name(TileSpace space) {
  switch (space) {
  case TileSpace::Register:
    return "register";
  case TileSpace::Shared:
    return "shared";
  case TileSpace::Scratch:
    return "scratch";
  }
  return "";
}

std::string toString(const KernelSchedule &schedule) {
  std::ostringstream out;
  out << "vector " << schedule.vectorWidth << " threads_per_row "
      << schedule.threadsPerRow << " rows_per_block " << schedule.rowsPerBlock
      << " grid " << schedule.gridX << " shared " << schedule.sharedBytes
      << (schedule.unrollColumns ? " unrolled" : " looped")
      << (schedule.wideIndex ? " wide" : "") << " rows_per_task "
      << schedule.rowsPerTask;
  for (size_t i = 0; i < schedule.tiles.size(); ++i)
    out << (i ? "," : " tiles ") << name(schedule.tiles[i]);
  return out.str();
}

bool parseKernelSchedule(std::string_view text, KernelSchedule &schedule,
                         std::string &error) {
  schedule = {};
  error.clear();
  Words words(text, error);
  for (std::string word; words.key(word);) {
    if (word == "vector")
      words.number(word, schedule.vectorWidth, 1u);
    else if (word == "threads_per_row")
      words.number(word, schedule.threadsPerRow, 1u);
    else if (word == "rows_per_block")
      words.number(word, schedule.rowsPerBlock, 1u);
    else if (word == "grid")
      words.number(word, schedule.gridX, int64_t(1));
    else if (word == "shared")
      words.number(word, schedule.sharedBytes, int64_t(0));
    else if (word == "rows_per_task")
      words.number(word, schedule.rowsPerTask, int64_t(1));
    else if (word == "unrolled" || word == "looped")
      schedule.unrollColumns = word == "unrolled";
    else if (word == "wide")
      schedule.wideIndex = true;
    else if (word == "tiles") {
      std::istringstream list{words.argument(word)};
      for (std::string item; std::getline(list, item, ',');) {
        bool known = false;
        for (TileSpace space : kSpaces)
          if (name(space) == item) {
            schedule.tiles.push_back(space);
            known = true;
          }
        if (!known)
          error =
              "a tile lives in register, shared or scratch, not '" + item + "'";
      }
    } else
      error = "a schedule has no '" + word + "'";
  }
  words.both("unrolled", "looped");
  for (const char *key : {"vector", "threads_per_row", "rows_per_block", "grid",
                          "shared", "rows_per_task"})
    if (error.empty() && !words.has(key))
      error = "'" + std::string(key) + "' is missing";
  if (error.empty() && !words.has("unrolled") && !words.has("looped"))
    error = "'unrolled' or 'looped' is missing";
  return error.empty();
}

bool parseSchedulePin(std::string_view text, SchedulePin &pin,
                      std::string &error) {
  pin = {};
  error.clear();
  Words words(text, error);
  for (std::string word; words.key(word);) {
    if (word == "vector")
      words.number(word, pin.vectorWidth, 1u);
    else if (word == "threads_per_row")
      words.number(word, pin.threadsPerRow, 1u);
    else if (word == "rows_per_block")
      words.number(word, pin.rowsPerBlock, 1u);
    else if (word == "rows_per_task")
      words.number(word, pin.rowsPerTask, int64_t(1));
    else if (word == "unrolled" || word == "looped")
      pin.loop = word == "unrolled" ? SchedulePin::Loop::Unrolled
                                    : SchedulePin::Loop::Looped;
    else if (word == "tiles") {
      std::string how = words.argument(word);
      if (how == "kept" || how == "recomputed")
        pin.tiles = how == "kept" ? SchedulePin::Tiles::Kept
                                  : SchedulePin::Tiles::Recomputed;
      else if (error.empty())
        error = "tiles are kept or recomputed, not '" + how + "'";
    } else
      error = "a schedule takes vector, threads_per_row, rows_per_block, "
              "rows_per_task, unrolled or looped, and tiles; not '" +
              word + "'";
  }
  words.both("unrolled", "looped");
  if (error.empty() && pin == SchedulePin{})
    error = "asks for nothing";
  return error.empty();
}

std::string toString(const SchedulePin &pin) {
  std::string text;
  auto add = [&](const std::string &part) {
    text += (text.empty() ? "" : " ") + part;
  };
  if (pin.vectorWidth)
    add("vector " + std::to_string(pin.vectorWidth));
  if (pin.threadsPerRow)
    add("threads_per_row " + std::to_string(pin.threadsPerRow));
  if (pin.rowsPerBlock)
    add("rows_per_block " + std::to_string(pin.rowsPerBlock));
  if (pin.rowsPerTask)
    add("rows_per_task " + std::to_string(pin.rowsPerTask));
  if (pin.loop != SchedulePin::Loop::Any)
    add(pin.loop == SchedulePin::Loop::Unrolled ? "unrolled" : "looped");
  if (pin.tiles != SchedulePin::Tiles::Any)
    add(pin.tiles == SchedulePin::Tiles::Kept ? "tiles kept"
                                              : "tiles recomputed");
  return text;
}

} // namespace lockstitch
