// Two tables of what is open. One under a mutex, ordered by address, for
// findInFiles(). One of atomics for signal handlers: a slot is taken by its begin
// being set last and freed by its begin being cleared first, so that a handler
// sees a whole entry or none. Mappings beyond the table's size are not known to
// handlers; they still work.
#include "runtime/program/file_bytes.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <new>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lockstitch {
namespace {

constexpr std::align_val_t kAlignment{64};

struct Slot {
  std::atomic<uintptr_t> begin{0};
  std::atomic<size_t> bytes{0};
  std::atomic<const char *> path{nullptr};
};
std::array<Slot, 256> slots;

struct OpenFiles {
  std::mutex mutex;
  std::map<const std::byte *, const FileBytes *> byAddress;
  std::array<bool, slots.size()> taken{};
};
/// Never destroyed: files may be closed when the process ends.
OpenFiles &openFiles() {
  static auto *files = new OpenFiles;
  return *files;
}

bool readAll(int file, std::byte *to, size_t bytes) {
  while (bytes) {
    ssize_t count = read(file, to, bytes);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    to += count;
    bytes -= static_cast<size_t>(count);
  }
  return true;
}

} // namespace

FileBytes::Opened FileBytes::open(const std::string &path) {
  auto fail = [](Problem problem, int code = 0) {
    return Opened{nullptr, problem, code};
  };
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return fail(errno == ENOENT || errno == ENOTDIR ? Problem::NoSuchFile
                                                    : Problem::CannotOpen,
                errno);
  std::shared_ptr<FileBytes> made(new FileBytes);
  made->descriptor = file;
  made->name = path;
  struct stat info;
  if (fstat(file, &info) != 0)
    return fail(Problem::CannotExamine, errno);
  if (S_ISDIR(info.st_mode))
    return fail(Problem::Directory);
  if (!S_ISREG(info.st_mode))
    return fail(Problem::NotRegular);
  if (info.st_size == 0)
    return fail(Problem::Empty);
  auto size = static_cast<size_t>(info.st_size);
  if (size <= kCopiedBytes) {
    auto *copy = static_cast<std::byte *>(::operator new(size, kAlignment));
    made->data = copy;
    if (!readAll(file, copy, size))
      return fail(Problem::CannotMap, errno);
    close(file);
    made->descriptor = -1;
  } else {
    void *address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (address == MAP_FAILED)
      return fail(Problem::CannotMap, errno);
    made->data = static_cast<const std::byte *>(address);
    made->isMapped = true;
  }
  made->size = size;
  OpenFiles &files = openFiles();
  std::lock_guard lock(files.mutex);
  files.byAddress[made->data] = made.get();
  for (size_t i = 0; made->isMapped && i < slots.size(); ++i) {
    if (files.taken[i])
      continue;
    files.taken[i] = true;
    made->slot = static_cast<int>(i);
    slots[i].bytes.store(size);
    slots[i].path.store(made->name.c_str());
    slots[i].begin.store(reinterpret_cast<uintptr_t>(made->data));
    break;
  }
  return {made, Problem::None, 0};
}

FileBytes::~FileBytes() {
  {
    OpenFiles &files = openFiles();
    std::lock_guard lock(files.mutex);
    files.byAddress.erase(data);
    if (slot >= 0) {
      slots[slot].begin.store(0);
      slots[slot].path.store(nullptr);
      files.taken[slot] = false;
    }
  }
  if (isMapped)
    munmap(const_cast<std::byte *>(data), size);
  else if (data)
    ::operator delete(const_cast<std::byte *>(data), kAlignment);
  if (descriptor >= 0)
    close(descriptor);
}

bool FileBytes::isIntact() const {
  struct stat info;
  return !isMapped || (fstat(descriptor, &info) == 0 &&
                       static_cast<size_t>(info.st_size) >= size);
}

std::optional<FilePlace> findInFiles(std::span<const std::byte> bytes) {
  OpenFiles &files = openFiles();
  std::lock_guard lock(files.mutex);
  auto next = files.byAddress.upper_bound(bytes.data());
  if (next == files.byAddress.begin())
    return std::nullopt;
  const FileBytes &file = *std::prev(next)->second;
  std::span<const std::byte> all = file.bytes();
  auto offset = static_cast<uint64_t>(bytes.data() - all.data());
  if (offset > all.size() || bytes.size() > all.size() - offset)
    return std::nullopt;
  return FilePlace{file.path(), all.size(), offset};
}

const char *mappedFile(const void *address) noexcept {
  auto at = reinterpret_cast<uintptr_t>(address);
  for (const Slot &slot : slots) {
    uintptr_t begin = slot.begin.load();
    // The last page is whole, the file may end within it.
    if (begin && at >= begin &&
        at - begin < (slot.bytes.load() + 4095) / 4096 * 4096)
      return slot.path.load();
  }
  return nullptr;
}

} // namespace lockstitch
