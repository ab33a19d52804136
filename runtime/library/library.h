// Products and convolutions on the host, behind the contract of
// runtime/program/library_call.h.
//
// A call is prepared once (layouts looked at, implementation chosen, scratch
// memory sized) and run many times, from any number of threads.
// Implementations: Eigen and loops of ours, compiled per CPU level, take
// everything; oneDNN, where it was found when this was built, takes what it is
// faster at (docs/library_calls.md). Both work on the one pool of the session:
// the pieces of a call are tasks of ours and each is computed by one thread.
// How a call is cut depends on its shape only, so the number of threads does
// not change a single bit of the result.
#ifndef LOCKSTITCH_RUNTIME_LIBRARY_LIBRARY_H
#define LOCKSTITCH_RUNTIME_LIBRARY_LIBRARY_H

#include "runtime/cpu/thread_pool.h"
#include "runtime/program/library_call.h"
#include "runtime/program/status.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace lockstitch {

class PreparedCall {
public:
  virtual ~PreparedCall();
  /// Bytes of scratch memory that a run needs with `threads` threads, 64-byte
  /// aligned.
  virtual int64_t scratchBytes(int threads) const = 0;
  /// Who computes it: "eigen x86-64-v4", "onednn".
  virtual std::string implementation() const = 0;
  /// `args`: operands, then the result. The result does not overlap operands or
  /// scratch.
  virtual void run(std::span<std::byte *const> args, std::byte *scratch,
                   const ThreadPool &pool) const = 0;
};

struct LibraryOptions {
  enum class Backend { Best, Eigen, OneDnn };
  Backend backend = Backend::Best; // other than Best: tests and measurements
  int level = 4;                   // highest x86-64 level to use
};

/// Capability query: why no library takes this call; nothing if one does. Looks
/// at the call alone (sizes that contradict each other, element types), so that
/// the compiler's side can ask too.
std::optional<std::string> libraryRefusal(const LibraryCall &call);

/// The same question to one backend ("onednn was not found when this was built"
/// is an answer).
std::optional<std::string> libraryRefusal(const LibraryCall &call,
                                          LibraryOptions::Backend backend);

/// Errors: refused (no library takes the call; `where` names the step).
Result<std::shared_ptr<const PreparedCall>>
prepareLibraryCall(const LibraryCall &call, std::string_view where,
                   const LibraryOptions &options = {});

} // namespace lockstitch

#endif // LOCKSTITCH_RUNTIME_LIBRARY_LIBRARY_H
