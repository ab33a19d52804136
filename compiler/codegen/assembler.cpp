#include "compiler/codegen/assembler.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <cstdlib>
#include <dlfcn.h>
#include <map>

namespace lockstitch {
namespace {

std::vector<std::string> toolkitFolders() {
  std::vector<std::string> folders;
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *value = std::getenv(variable); value && *value)
      folders.push_back(value);
  folders.push_back("/usr/local/cuda");
  return folders;
}

std::string architecture(const GpuTarget &target) {
  return "sm_" + std::to_string(target.sm);
}

/// A file that is deleted at the end.
struct TemporaryFile {
  explicit TemporaryFile(llvm::StringRef suffix) {
    if (!llvm::sys::fs::createTemporaryFile("lockstitch", suffix, path))
      exists = true;
  }
  ~TemporaryFile() {
    if (exists)
      llvm::sys::fs::remove(path);
  }
  std::string read() const {
    auto buffer = llvm::MemoryBuffer::getFile(path);
    return buffer ? (*buffer)->getBuffer().str() : std::string();
  }
  llvm::SmallString<128> path;
  bool exists = false;
};

/// Reads `ptxas -v`:
///   ptxas info    : Compiling entry function 'k' for 'sm_80'
///       0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
///   ptxas info    : Used 18 registers, ...
std::vector<KernelResources> parseResources(llvm::StringRef text) {
  std::vector<KernelResources> kernels;
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  auto numberBefore = [](llvm::StringRef line, llvm::StringRef unit) {
    llvm::StringRef before = line.take_front(line.find(unit)).rtrim();
    int64_t number = 0;
    before.substr(before.find_last_not_of("0123456789") + 1)
        .getAsInteger(10, number);
    return number;
  };
  for (llvm::StringRef line : lines) {
    constexpr llvm::StringLiteral start = "Compiling entry function '";
    if (size_t at = line.find(start); at != llvm::StringRef::npos) {
      KernelResources kernel;
      kernel.symbol = line.substr(at + start.size()).split('\'').first.str();
      kernels.push_back(std::move(kernel));
    } else if (kernels.empty()) {
      continue;
    } else if (line.contains("bytes stack frame")) {
      kernels.back().stackBytes = numberBefore(line, "bytes stack frame");
      kernels.back().spillStoreBytes = numberBefore(line, "bytes spill stores");
      kernels.back().spillLoadBytes = numberBefore(line, "bytes spill loads");
    } else if (line.contains("Used ") && line.contains(" registers")) {
      kernels.back().registers = numberBefore(line, "registers");
    }
  }
  return kernels;
}

Error assemblyError(const std::string &assembler, const GpuTarget &target,
                    std::string messages) {
  llvm::StringRef text(messages);
  std::string where = "assembler " + assembler;
  if (text.contains("is not defined for option 'gpu-name'") ||
      text.contains("Unsupported .target") ||
      text.contains("Unsupported .version"))
    return Error::refused(
        where, "it does not know " + architecture(target),
        "use another CUDA toolkit, or leave the PTX to the driver");
  return Error::internal(where, "assembling for " + architecture(target) +
                                    " failed: " + text.trim().str());
}

} // namespace

std::optional<Assembler> Assembler::find() {
  Assembler assembler;
  if (auto found = llvm::sys::findProgramByName("ptxas")) {
    assembler.place = *found;
    return assembler;
  }
  for (const std::string &folder : toolkitFolders())
    if (auto found = llvm::sys::findProgramByName("ptxas", {folder + "/bin"})) {
      assembler.place = *found;
      return assembler;
    }
  std::vector<std::string> names;
  for (const std::string &folder : toolkitFolders())
    names.push_back(folder + "/lib64/libnvJitLink.so");
  for (const char *name :
       {"libnvJitLink.so.13", "libnvJitLink.so.12", "libnvJitLink.so"})
    names.push_back(name);
  for (const std::string &name : names)
    if (void *library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      assembler.place = name;
      assembler.library = library;
      return assembler;
    }
  return std::nullopt;
}

Result<AssembledCode> Assembler::assemble(std::string_view ptx,
                                          const GpuTarget &target) const {
  return library ? runLibrary(ptx, target) : runPtxas(ptx, target);
}

Result<AssembledCode> Assembler::runPtxas(std::string_view ptx,
                                          const GpuTarget &target) const {
  TemporaryFile input("ptx"), output("cubin"), messages("txt");
  if (!input.exists || !output.exists || !messages.exists)
    return Error::internal("assembler " + place,
                           "no temporary file can be made");
  {
    std::error_code error;
    llvm::raw_fd_ostream file(input.path, error);
    file << llvm::StringRef(ptx.data(), ptx.size());
    file.close();
    if (error || file.has_error())
      return Error::internal("assembler " + place,
                             "cannot write " + input.path.str().str());
  }
  std::string arch = "-arch=" + architecture(target);
  std::string failure;
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(""),
                                                llvm::StringRef(messages.path),
                                                llvm::StringRef(messages.path)};
  int status = llvm::sys::ExecuteAndWait(
      place, {place, "-v", arch, input.path, "-o", output.path}, std::nullopt,
      redirects, 0, 0, &failure);
  std::string text = messages.read();
  if (status != 0)
    return assemblyError(place, target, text + failure);
  AssembledCode code;
  std::string bytes = output.read();
  auto *first = reinterpret_cast<const std::byte *>(bytes.data());
  code.cubin.assign(first, first + bytes.size());
  code.kernels = parseResources(text);
  return code;
}

Result<AssembledCode> Assembler::runLibrary(std::string_view ptx,
                                            const GpuTarget &target) const {
  // nvJitLink's C interface, declared here so that its header is not needed.
  using Handle = void *;
  auto symbol = [&]<typename Function>(const char *name, Function *&function) {
    function = reinterpret_cast<Function *>(dlsym(library, name));
    return function != nullptr;
  };
  int (*create)(Handle *, uint32_t, const char **);
  int (*destroy)(Handle *);
  int (*addData)(Handle, int, const void *, size_t, const char *);
  int (*complete)(Handle);
  int (*cubinSize)(Handle, size_t *), (*errorSize)(Handle, size_t *),
      (*infoSize)(Handle, size_t *);
  int (*cubin)(Handle, void *);
  int (*errorLog)(Handle, char *), (*infoLog)(Handle, char *);
  if (!symbol("nvJitLinkCreate", create) ||
      !symbol("nvJitLinkDestroy", destroy) ||
      !symbol("nvJitLinkAddData", addData) ||
      !symbol("nvJitLinkComplete", complete) ||
      !symbol("nvJitLinkGetLinkedCubinSize", cubinSize) ||
      !symbol("nvJitLinkGetLinkedCubin", cubin) ||
      !symbol("nvJitLinkGetErrorLogSize", errorSize) ||
      !symbol("nvJitLinkGetErrorLog", errorLog) ||
      !symbol("nvJitLinkGetInfoLogSize", infoSize) ||
      !symbol("nvJitLinkGetInfoLog", infoLog))
    return Error::refused("assembler " + place,
                          "the library lacks nvJitLink's functions",
                          "install a CUDA toolkit of 12 or later");
  constexpr int kInputPtx = 2;
  std::string arch = "-arch=" + architecture(target);
  const char *options[] = {arch.c_str(), "-verbose"};
  Handle handle = nullptr;
  if (create(&handle, 2, options) != 0)
    return assemblyError(place, target, "is not defined for option 'gpu-name'");
  auto log = [&](auto size, auto get) {
    size_t length = 0;
    std::string text;
    if (size(handle, &length) == 0 && length) {
      text.resize(length);
      get(handle, text.data());
    }
    return text;
  };
  std::string text(ptx);
  int status =
      addData(handle, kInputPtx, text.c_str(), text.size() + 1, "kernels");
  if (status == 0)
    status = complete(handle);
  if (status != 0) {
    std::string messages = log(errorSize, errorLog);
    destroy(&handle);
    return assemblyError(place, target, messages);
  }
  AssembledCode code;
  size_t size = 0;
  cubinSize(handle, &size);
  code.cubin.resize(size);
  cubin(handle, code.cubin.data());
  code.kernels = parseResources(log(infoSize, infoLog));
  destroy(&handle);
  return code;
}

} // namespace lockstitch
