// Status: how the runtime says that something went wrong. No exceptions cross a
// library border.
#ifndef LOCKSTITCH_RUNTIME_PROGRAM_STATUS_H
#define LOCKSTITCH_RUNTIME_PROGRAM_STATUS_H

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace lockstitch {

/// The exit status that an error leads to on the command line.
enum class ErrorKind {
  CheckFailed = 1,
  Refused = 2,
  Internal = 3,
  DeviceFailed = 4
};

/// What was wrong, where, and what can be done about it: the report's
/// `error.messages` entry.
struct ErrorMessage {
  std::string node;  // node ID, or ""
  std::string where; // file, option, input, line ...
  std::string reason;
  std::string wayOut;
};

struct Error {
  ErrorKind kind = ErrorKind::Refused;
  std::vector<ErrorMessage> messages;
  static Error refused(std::string where, std::string reason,
                       std::string wayOut = {}) {
    return {ErrorKind::Refused,
            {{"", std::move(where), std::move(reason), std::move(wayOut)}}};
  }
  static Error internal(std::string where, std::string reason) {
    return {ErrorKind::Internal,
            {{"", std::move(where), std::move(reason), ""}}};
  }
  static Error device(std::string where, std::string reason,
                      std::string wayOut = {}) {
    return {ErrorKind::DeviceFailed,
            {{"", std::move(where), std::move(reason), std::move(wayOut)}}};
  }
};

/// Success, or an Error.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Error error) : problem(std::move(error)) {}
  bool ok() const { return !problem; }
  const Error &error() const { return *problem; }

private:
  std::optional<Error> problem;
};

/// A T, or an Error.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : state(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state(std::in_place_index<1>, std::move(error)) {}
  bool ok() const { return state.index() == 0; }
  const Error &error() const { return std::get<1>(state); }
  T &operator*() { return std::get<0>(state); }
  const T &operator*() const { return std::get<0>(state); }
  T *operator->() { return &std::get<0>(state); }
  const T *operator->() const { return &std::get<0>(state); }

private:
  std::variant<T, Error> state;
};

} // namespace lockstitch

#endif // LOCKSTITCH_RUNTIME_PROGRAM_STATUS_H
