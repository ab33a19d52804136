// Objects -> one self-contained shared object, by lld as a library. lld works
// on files only, so the objects pass through a temporary folder; their names
// are fixed, and nothing of the folder's path enters the result.
#include "compiler/codegen/codegen.h"

#include "lld/Common/Driver.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <mutex>

LLD_HAS_DRIVER(elf)

namespace lockstitch {

namespace {

/// A folder that goes away with everything in it.
class TemporaryFolder {
public:
  TemporaryFolder() {
    failed = bool(llvm::sys::fs::createUniqueDirectory("lockstitch", path));
  }
  ~TemporaryFolder() {
    if (!failed)
      llvm::sys::fs::remove_directories(path);
  }
  std::string file(const llvm::Twine &name) const {
    llvm::SmallString<128> result(path);
    llvm::sys::path::append(result, name);
    return result.str().str();
  }
  bool failed = false;
  llvm::SmallString<128> path;
};

Error linkError(const std::string &what) {
  return Error::internal("shared object", what);
}

} // namespace

Result<std::vector<std::byte>>
linkSharedObject(std::span<const std::span<const std::byte>> objects) {
  TemporaryFolder folder;
  if (folder.failed)
    return linkError("no temporary folder can be made");
  std::string output = folder.file("kernels.so");
  // --no-undefined makes any external, a libcall that LLVM slipped in for
  // example, an error that names it.
  std::vector<std::string> args = {"ld.lld",
                                   "-shared",
                                   "-z",
                                   "now",
                                   "--no-undefined",
                                   "--build-id=none",
                                   "--hash-style=gnu",
                                   "--threads=1",
                                   "-soname",
                                   "lockstitch_kernels.so",
                                   "-o",
                                   output};
  for (size_t i = 0; i < objects.size(); ++i) {
    std::string path = folder.file("kernel" + llvm::Twine(i) + ".o");
    std::error_code error;
    llvm::raw_fd_ostream file(path, error);
    if (error)
      return linkError("cannot write " + path + ": " + error.message());
    file.write(reinterpret_cast<const char *>(objects[i].data()),
               objects[i].size());
    file.close();
    if (file.has_error())
      return linkError("cannot write " + path + ": " + file.error().message());
    args.push_back(path);
  }
  std::vector<const char *> argv;
  for (const std::string &arg : args)
    argv.push_back(arg.c_str());
  std::string messages, ignored;
  {
    // lld keeps its state in globals.
    static std::mutex oneAtATime;
    std::lock_guard lock(oneAtATime);
    llvm::raw_string_ostream errors(messages), out(ignored);
    lld::Result result =
        lld::lldMain(argv, out, errors, {{lld::Gnu, &lld::elf::link}});
    if (result.retCode != 0)
      return linkError("linking failed: " +
                       llvm::StringRef(messages).trim().str());
  }
  auto buffer = llvm::MemoryBuffer::getFile(output, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return linkError("cannot read what was linked: " +
                     buffer.getError().message());
  auto *first =
      reinterpret_cast<const std::byte *>((*buffer)->getBufferStart());
  return std::vector<std::byte>(first, first + (*buffer)->getBufferSize());
}

} // namespace lockstitch
