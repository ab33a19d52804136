#include "runtime/program/artifact.h"

#include "runtime/program/manifest_conversion.h"
#include "runtime/program/validate.h"

#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace lockstitch {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the artifact's numbers and tensors are little-endian");

constexpr unsigned char kMagic[8] = {0x89, 'L',  'S',  'P',
                                     '\r', '\n', 0x1a, '\n'};

struct Header {
  unsigned char magic[8];
  uint32_t version, zero0;
  uint64_t fileBytes, manifestBytes, manifestChecksum;
  uint64_t zero1, zero2;
  uint64_t checksum;
};
static_assert(sizeof(Header) == 64);

constexpr const char *kAgain =
    "compile the model again, or fetch the file again";

uint64_t alignUp(uint64_t bytes) {
  return (bytes + kSectionAlignment - 1) / kSectionAlignment *
         kSectionAlignment;
}

uint64_t headerChecksum(const Header &header) {
  return XXH3_64bits(&header, offsetof(Header, checksum));
}

/// Of the bytes and the zeros behind them, up to the next multiple of the
/// alignment.
uint64_t paddedChecksum(std::span<const std::byte> bytes) {
  static constexpr std::byte zeros[kSectionAlignment] = {};
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, bytes.data(), bytes.size());
  XXH3_64bits_update(&state, zeros, alignUp(bytes.size()) - bytes.size());
  return XXH3_64bits_digest(&state);
}

// --- Writing ---

class TemporaryFile {
public:
  explicit TemporaryFile(const std::string &path)
      : target(path), name(path + ".XXXXXX") {
    descriptor = mkstemp(name.data());
  }
  ~TemporaryFile() {
    if (descriptor >= 0) {
      close(descriptor);
      unlink(name.c_str());
    }
  }
  bool ok() const { return descriptor >= 0; }

  bool write(const void *data, size_t bytes) {
    auto *from = static_cast<const char *>(data);
    while (bytes) {
      ssize_t count = ::write(descriptor, from, bytes);
      if (count < 0 && errno == EINTR)
        continue;
      if (count < 0)
        return false;
      from += count;
      bytes -= count;
    }
    return true;
  }

  /// With the zeros behind it.
  bool writePadded(const void *data, size_t bytes) {
    static constexpr char zeros[kSectionAlignment] = {};
    return write(data, bytes) && write(zeros, alignUp(bytes) - bytes);
  }

  /// Gives the file its name.
  bool finish() {
    mode_t mask = umask(0);
    umask(mask);
    if (fchmod(descriptor, 0666 & ~mask) != 0 || fsync(descriptor) != 0 ||
        rename(name.c_str(), target.c_str()) != 0)
      return false;
    close(descriptor);
    descriptor = -1;
    return true;
  }

private:
  std::string target, name;
  int descriptor = -1;
};

Error cannotWrite(const std::string &path) {
  return Error::refused(
      path,
      std::string("the artifact cannot be written: ") + std::strerror(errno),
      "name a file in a folder that exists, can be written and has space");
}

// --- Reading ---

class Mapping {
public:
  Mapping(void *address, size_t bytes) : address(address), bytes(bytes) {}
  ~Mapping() { munmap(address, bytes); }
  Mapping(const Mapping &) = delete;
  Mapping &operator=(const Mapping &) = delete;
  std::span<const std::byte> all() const {
    return {static_cast<const std::byte *>(address), bytes};
  }

private:
  void *address;
  size_t bytes;
};

Result<std::shared_ptr<Mapping>> map(const std::string &path) {
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return Error::refused(path,
                          std::string("the artifact cannot be read: ") +
                              std::strerror(errno),
                          "name a .lsp file that is there and may be read");
  struct stat status;
  bool readable = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  if (!readable || status.st_size == 0) {
    close(file);
    return Error::refused(path,
                          readable ? "not an artifact: the file is empty"
                                   : "not an artifact: not a regular file",
                          "give a .lsp file that lockstitch compile wrote");
  }
  void *address =
      mmap(nullptr, status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
  int problem = errno;
  close(file);
  if (address == MAP_FAILED)
    return Error::refused(path,
                          std::string("the artifact cannot be mapped: ") +
                              std::strerror(problem),
                          "copy it to a local disk");
  return std::make_shared<Mapping>(address, status.st_size);
}

class SectionCheck final : public ContentCheck {
public:
  SectionCheck(std::shared_ptr<const Mapping> mapping,
               std::span<const std::byte> padded, uint64_t checksum,
               std::string path, std::string what)
      : mapping(std::move(mapping)), padded(padded), checksum(checksum),
        path(std::move(path)), what(std::move(what)) {}

  Status verify() const override {
    std::call_once(once, [&] {
      good = XXH3_64bits(padded.data(), padded.size()) == checksum;
    });
    return good ? Status()
                : Error::refused(path,
                                 "the artifact is damaged: the checksum of " +
                                     what + " does not hold",
                                 kAgain);
  }

private:
  std::shared_ptr<const Mapping> mapping;
  std::span<const std::byte> padded;
  uint64_t checksum;
  std::string path, what;
  mutable std::once_flag once;
  mutable bool good = false;
};

/// The checked header; errors as readArtifact's.
Result<Header> readHeader(const std::string &path,
                          std::span<const std::byte> file) {
  Header header{};
  std::memcpy(&header, file.data(), std::min(file.size(), sizeof header));
  if (std::memcmp(header.magic, kMagic, std::min(file.size(), sizeof kMagic)) !=
      0)
    return Error::refused(path, "not an artifact: it does not begin like one",
                          "give a .lsp file that lockstitch compile wrote");
  if (file.size() < sizeof header)
    return Error::refused(
        path, "the artifact is truncated: it ends within its header", kAgain);
  if (header.version > kFormatVersion)
    return Error::refused(
        path,
        "the artifact has format version " + std::to_string(header.version) +
            "; this lockstitch reads versions up to " +
            std::to_string(kFormatVersion),
        "use a newer lockstitch, or compile the model again with this one");
  if (header.version == 0 || header.checksum != headerChecksum(header) ||
      header.zero0 || header.zero1 || header.zero2)
    return Error::refused(
        path,
        "the artifact is damaged: the checksum of its header does not hold",
        kAgain);
  if (file.size() < header.fileBytes)
    return Error::refused(path,
                          "the artifact is truncated: it has " +
                              std::to_string(file.size()) + " bytes of " +
                              std::to_string(header.fileBytes),
                          kAgain);
  if (file.size() > header.fileBytes)
    return Error::refused(path,
                          "the artifact is damaged: " +
                              std::to_string(file.size() - header.fileBytes) +
                              " bytes follow its end",
                          kAgain);
  if (header.manifestBytes > file.size() - sizeof header ||
      alignUp(header.manifestBytes) > file.size() - sizeof header)
    return Error::refused(
        path,
        "the artifact contradicts itself: its manifest is larger than the file",
        kAgain);
  return header;
}

} // namespace

Status writeArtifact(const Program &program, const std::string &path) {
  if (Status status = validate(program); !status.ok())
    return status;
  if (Status status = verifyContents(program); !status.ok())
    return status;
  std::vector<const Blob *> sections;
  manifest::Manifest manifest =
      toManifest(program, [&](const Blob &blob) -> uint32_t {
        if (blob.bytes.empty())
          return 0;
        sections.push_back(&blob);
        return static_cast<uint32_t>(sections.size());
      });
  uint64_t offset = 0;
  for (const Blob *blob : sections) {
    manifest::Section &section = *manifest.add_sections();
    section.set_offset(offset);
    section.set_bytes(blob->bytes.size());
    section.set_checksum(paddedChecksum(blob->bytes));
    offset += alignUp(blob->bytes.size());
  }
  std::string text;
  {
    google::protobuf::io::StringOutputStream stream(&text);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    if (!manifest.SerializeToCodedStream(&coded))
      return Error::internal(
          path, "the manifest cannot be written: it exceeds 2 GiB");
  }
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.version = kFormatVersion;
  header.manifestBytes = text.size();
  header.manifestChecksum = paddedChecksum(std::as_bytes(std::span(text)));
  header.fileBytes = sizeof header + alignUp(text.size()) + offset;
  header.checksum = headerChecksum(header);

  TemporaryFile file(path);
  bool good = file.ok() && file.write(&header, sizeof header) &&
              file.writePadded(text.data(), text.size());
  for (const Blob *blob : sections)
    good = good && file.writePadded(blob->bytes.data(), blob->bytes.size());
  if (!good || !file.finish())
    return cannotWrite(path);
  return {};
}

Result<std::shared_ptr<const Program>> readArtifact(const std::string &path) {
  Result<std::shared_ptr<Mapping>> mapped = map(path);
  if (!mapped.ok())
    return mapped.error();
  std::shared_ptr<const Mapping> mapping = *mapped;
  std::span<const std::byte> file = mapping->all();
  Result<Header> header = readHeader(path, file);
  if (!header.ok())
    return header.error();

  auto contradicts = [&](const std::string &what) {
    return Error::refused(path, "the artifact contradicts itself: " + what,
                          kAgain);
  };
  std::span<const std::byte> rest = file.subspan(sizeof(Header));
  uint64_t manifestSpan = alignUp(header->manifestBytes);
  if (XXH3_64bits(rest.data(), manifestSpan) != header->manifestChecksum)
    return Error::refused(
        path,
        "the artifact is damaged: the checksum of its manifest does not hold",
        kAgain);
  manifest::Manifest manifest;
  if (header->manifestBytes > INT32_MAX ||
      !manifest.ParseFromArray(rest.data(),
                               static_cast<int>(header->manifestBytes)))
    return contradicts("its manifest is not one");

  // Sections follow each other without gaps, so every byte of the file belongs
  // to something with a checksum.
  std::span<const std::byte> sections = rest.subspan(manifestSpan);
  uint64_t expected = 0;
  for (const manifest::Section &section : manifest.sections()) {
    if (section.offset() != expected ||
        section.bytes() > sections.size() - expected ||
        alignUp(section.bytes()) > sections.size() - expected)
      return contradicts("its sections do not fit into the file");
    expected += alignUp(section.bytes());
  }
  if (expected != sections.size())
    return contradicts("its sections do not fill the file");

  auto program = std::make_shared<Program>();
  auto blob = [&](uint32_t number, Blob &to) {
    if (number > static_cast<uint32_t>(manifest.sections_size()))
      return false;
    const manifest::Section &section = manifest.sections(number - 1);
    to.bytes = sections.subspan(section.offset(), section.bytes());
    to.owner = mapping;
    to.check = std::make_shared<SectionCheck>(
        mapping, sections.subspan(section.offset(), alignUp(section.bytes())),
        section.checksum(), path, "section " + std::to_string(number));
    return true;
  };
  if (std::string problem = fromManifest(manifest, blob, *program);
      !problem.empty())
    return contradicts(problem);
  if (Status status = validate(*program); !status.ok())
    return contradicts(status.error().messages[0].where + ": " +
                       status.error().messages[0].reason);
  return std::shared_ptr<const Program>(program);
}

bool looksLikeArtifact(const std::string &path) {
  unsigned char begin[sizeof kMagic] = {};
  FILE *file = std::fopen(path.c_str(), "rb");
  if (!file)
    return false;
  size_t count = std::fread(begin, 1, sizeof begin, file);
  std::fclose(file);
  return count >= 4 && std::memcmp(begin, kMagic, count) == 0;
}

Status verifyContents(const Program &program) {
  for (const Blob &constant : program.constants)
    if (Status status = constant.verify(); !status.ok())
      return status;
  for (const TargetProgram &target : program.targets)
    for (const Blob *blob : {&target.code, &target.cubin})
      if (Status status = blob->verify(); !status.ok())
        return status;
  return {};
}

} // namespace lockstitch
