#include "runtime/program/artifact.h"

#include "runtime/program/bind.h"
#include "runtime/program/file_bytes.h"
#include "runtime/program/manifest_conversion.h"
#include "runtime/program/validate.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
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

constexpr const char *kTruncatedInUse =
    "the file was truncated while it was in use";
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

Result<std::shared_ptr<const FileBytes>> map(const std::string &path) {
  FileBytes::Opened opened = FileBytes::open(path);
  std::string cause = std::strerror(opened.code);
  switch (opened.problem) {
  case FileBytes::Problem::None:
    break;
  case FileBytes::Problem::NoSuchFile:
  case FileBytes::Problem::CannotOpen:
    return Error::refused(path, "the artifact cannot be read: " + cause,
                          "name a .lsp file that is there and may be read");
  case FileBytes::Problem::CannotExamine:
  case FileBytes::Problem::Directory:
  case FileBytes::Problem::NotRegular:
    return Error::refused(path, "not an artifact: not a regular file",
                          "give a .lsp file that lockstitch compile wrote");
  case FileBytes::Problem::Empty:
    return Error::refused(path, "not an artifact: the file is empty",
                          "give a .lsp file that lockstitch compile wrote");
  case FileBytes::Problem::CannotMap:
    return Error::refused(path, "the artifact cannot be mapped: " + cause,
                          "copy it to a local disk");
  }
  return std::move(opened.file);
}

/// Of a section, or of a constant in another file.
class ChecksumCheck final : public ContentCheck {
public:
  /// `damaged`: what is said where the checksum of `bytes`, a part of `file`, does not hold.
  ChecksumCheck(std::shared_ptr<const FileBytes> file,
                std::span<const std::byte> bytes, uint64_t checksum,
                Error damaged)
      : file(std::move(file)), bytes(bytes), checksum(checksum),
        damaged(std::move(damaged)) {}

  Status verify() const override {
    if (!file->isIntact())
      return Error::refused(file->path(), kTruncatedInUse, kAgain);
    std::call_once(once, [&] {
      good = XXH3_64bits(bytes.data(), bytes.size()) == checksum;
    });
    return good ? Status() : damaged;
  }

private:
  std::shared_ptr<const FileBytes> file;
  std::span<const std::byte> bytes;
  uint64_t checksum;
  Error damaged;
  mutable std::once_flag once;
  mutable bool good = false;
};

/// Where a weight file is, seen from the working folder.
std::string weightPath(const std::string &artifact,
                       const std::string &weights) {
  return (std::filesystem::path(artifact).parent_path() / weights).string();
}

bool isConstant(const Program &program, const Blob &blob) {
  return !program.constants.empty() && &blob >= &program.constants.front() &&
         &blob <= &program.constants.back();
}

/// Enters the files and where in them the constants lie.
void addReferences(manifest::Manifest &manifest, const Program &program,
                   const std::map<const Blob *, FilePlace> &referred,
                   const std::string &path) {
  namespace fs = std::filesystem;
  std::vector<std::string> known;
  for (size_t i = 0; i < program.constants.size(); ++i) {
    auto found = referred.find(&program.constants[i]);
    if (found == referred.end())
      continue;
    const FilePlace &place = found->second;
    auto at = std::find(known.begin(), known.end(), place.path);
    if (at == known.end()) {
      at = known.insert(known.end(), place.path);
      std::error_code code;
      fs::path folder = fs::path(path).parent_path();
      fs::path relative =
          fs::relative(place.path, folder.empty() ? "." : folder, code);
      if (code || relative.empty())
        relative = fs::absolute(place.path, code);
      manifest::WeightFile &file = *manifest.add_weight_files();
      file.set_path(relative.string());
      file.set_bytes(place.fileBytes);
    }
    manifest::Constant &constant =
        *manifest.mutable_constants(static_cast<int>(i));
    constant.set_file(static_cast<uint32_t>(at - known.begin()) + 1);
    constant.set_file_offset(place.offset);
    constant.set_file_checksum(XXH3_64bits(program.constants[i].bytes.data(),
                                           program.constants[i].bytes.size()));
  }
}

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

Status writeArtifact(const Program &program, const std::string &path,
                     WeightStorage weights) {
  if (Status status = validate(program); !status.ok())
    return status;
  if (Status status = verifyContents(program); !status.ok())
    return status;
  std::vector<const Blob *> sections;
  std::map<const Blob *, FilePlace> referred;
  manifest::Manifest manifest =
      toManifest(program, [&](const Blob &blob) -> uint32_t {
        if (blob.bytes.empty())
          return 0;
        if (std::optional<FilePlace> place;
            weights == WeightStorage::Refer &&
            blob.bytes.size() >= kReferredBytes && isConstant(program, blob) &&
            (place = findInFiles(blob.bytes))) {
          referred[&blob] = *place;
          return 0;
        }
        sections.push_back(&blob);
        return static_cast<uint32_t>(sections.size());
      });
  addReferences(manifest, program, referred, path);
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
  header.version =
      hasOpenSizes(program) || !referred.empty() ? kFormatVersion : 1;
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

namespace {

/// A file whose header, manifest and sections' arithmetic are checked.
struct OpenedArtifact {
  std::string path;
  std::shared_ptr<const FileBytes> file;
  uint64_t manifestChecksum = 0, manifestBytes = 0;
  manifest::Manifest manifest;
  std::span<const std::byte> sections;

  Error contradicts(const std::string &what) const {
    return Error::refused(path, "the artifact contradicts itself: " + what,
                          kAgain);
  }
  /// `number` from 1.
  std::span<const std::byte> sectionBytes(uint32_t number) const {
    const manifest::Section &section = manifest.sections(number - 1);
    return sections.subspan(section.offset(), section.bytes());
  }
  std::shared_ptr<const ContentCheck> sectionCheck(uint32_t number) const {
    const manifest::Section &section = manifest.sections(number - 1);
    return std::make_shared<ChecksumCheck>(
        file, sections.subspan(section.offset(), alignUp(section.bytes())),
        section.checksum(),
        Error::refused(path,
                       "the artifact is damaged: the checksum of section " +
                           std::to_string(number) + " does not hold",
                       kAgain));
  }
};

Result<OpenedArtifact> openArtifact(const std::string &path) {
  OpenedArtifact opened;
  opened.path = path;
  Result<std::shared_ptr<const FileBytes>> mapped = map(path);
  if (!mapped.ok())
    return mapped.error();
  opened.file = *mapped;
  std::span<const std::byte> file = opened.file->bytes();
  Result<Header> header = readHeader(path, file);
  if (!header.ok())
    return header.error();
  opened.manifestBytes = header->manifestBytes;
  opened.manifestChecksum = header->manifestChecksum;
  std::span<const std::byte> rest = file.subspan(sizeof(Header));
  uint64_t manifestSpan = alignUp(header->manifestBytes);
  if (XXH3_64bits(rest.data(), manifestSpan) != header->manifestChecksum)
    return Error::refused(
        path,
        "the artifact is damaged: the checksum of its manifest does not hold",
        kAgain);
  if (header->manifestBytes > INT32_MAX ||
      !opened.manifest.ParseFromArray(rest.data(),
                                      static_cast<int>(header->manifestBytes)))
    return opened.contradicts("its manifest is not one");

  // Sections follow each other without gaps, so every byte of the file belongs
  // to something with a checksum.
  std::span<const std::byte> sections = rest.subspan(manifestSpan);
  uint64_t expected = 0;
  for (const manifest::Section &section : opened.manifest.sections()) {
    if (section.offset() != expected ||
        section.bytes() > sections.size() - expected ||
        alignUp(section.bytes()) > sections.size() - expected)
      return opened.contradicts("its sections do not fit into the file");
    expected += alignUp(section.bytes());
  }
  if (expected != sections.size())
    return opened.contradicts("its sections do not fill the file");
  opened.sections = sections;
  return opened;
}

/// A weight file, mapped; refused if it is not the one that was referred to.
Result<std::shared_ptr<const FileBytes>>
openWeights(const OpenedArtifact &artifact, const manifest::WeightFile &file) {
  std::string path = weightPath(artifact.path, file.path());
  auto refuse = [&](const std::string &reason) {
    return Error::refused(
        path, reason + "; the artifact " + artifact.path + " refers to it",
        "put the file back, or compile the model again (with --weights embed "
        "the artifact needs no other file)");
  };
  FileBytes::Opened opened = FileBytes::open(path);
  uint64_t bytes = opened.file ? opened.file->bytes().size() : 0;
  if (!opened.file && opened.problem != FileBytes::Problem::Empty)
    return refuse(opened.problem == FileBytes::Problem::NoSuchFile
                      ? "the file with the weights is not there"
                      : "the file with the weights cannot be read");
  if (bytes < file.bytes())
    return refuse("the file with the weights is truncated: it has " +
                  std::to_string(bytes) + " bytes of " +
                  std::to_string(file.bytes()));
  if (bytes > file.bytes())
    return refuse("the file with the weights has changed: it has " +
                  std::to_string(bytes) + " bytes, not " +
                  std::to_string(file.bytes()));
  return std::move(opened.file);
}

/// Gives the constants that refer to a file their bytes.
Status readReferences(const OpenedArtifact &artifact, Program &program) {
  const manifest::Manifest &manifest = artifact.manifest;
  std::vector<std::shared_ptr<const FileBytes>> files;
  for (const manifest::WeightFile &entry : manifest.weight_files()) {
    Result<std::shared_ptr<const FileBytes>> file =
        openWeights(artifact, entry);
    if (!file.ok())
      return file.error();
    files.push_back(std::move(*file));
  }
  for (int i = 0; i < manifest.constants_size(); ++i) {
    const manifest::Constant &entry = manifest.constants(i);
    if (!entry.file())
      continue;
    const std::string &name = program.constantInfos[i].name;
    if (entry.file() > files.size() || entry.section())
      return artifact.contradicts("constant '" + name +
                                  "' refers to a file that it does not name");
    for (const Dim &extent : program.constantInfos[i].shape)
      if (!extent.isConstant())
        return artifact.contradicts("constant '" + name +
                                    "' has an open shape");
    const std::shared_ptr<const FileBytes> &file = files[entry.file() - 1];
    int64_t bytes = checkedBytes(program.constantInfos[i]);
    if (bytes <= 0 || static_cast<uint64_t>(bytes) > file->bytes().size() ||
        entry.file_offset() > file->bytes().size() - bytes)
      return artifact.contradicts("constant '" + name +
                                  "' lies outside of its file");
    Blob &blob = program.constants[i];
    blob.bytes = file->bytes().subspan(entry.file_offset(), bytes);
    blob.owner = file;
    blob.check = std::make_shared<ChecksumCheck>(
        file, blob.bytes, entry.file_checksum(),
        Error::refused(file->path(),
                       "the file with the weights has changed: the checksum of "
                       "constant '" +
                           name + "' does not hold; the artifact " +
                           artifact.path + " refers to it",
                       "put the file back, or compile the model again"));
  }
  return {};
}

} // namespace

Result<std::shared_ptr<const Program>> readArtifact(const std::string &path) {
  Result<OpenedArtifact> opened = openArtifact(path);
  if (!opened.ok())
    return opened.error();
  auto program = std::make_shared<Program>();
  auto blob = [&](uint32_t number, Blob &to) {
    if (number > static_cast<uint32_t>(opened->manifest.sections_size()))
      return false;
    to = {opened->sectionBytes(number), opened->file,
          opened->sectionCheck(number)};
    return true;
  };
  if (std::string problem = fromManifest(opened->manifest, blob, *program);
      !problem.empty())
    return opened->contradicts(problem);
  if (Status status = readReferences(*opened, *program); !status.ok())
    return status.error();
  if (Status status = validate(*program); !status.ok())
    return opened->contradicts(status.error().messages[0].where + ": " +
                               status.error().messages[0].reason);
  return std::shared_ptr<const Program>(program);
}

Result<std::vector<ArtifactPart>> listParts(const std::string &path,
                                            bool verify) {
  Result<OpenedArtifact> opened = openArtifact(path);
  if (!opened.ok())
    return opened.error();
  const manifest::Manifest &manifest = opened->manifest;
  std::vector<ArtifactPart> parts;
  ArtifactPart header{"header", "", 0, sizeof(Header), 0, Verified::Good};
  Header raw{};
  std::memcpy(&raw, opened->file->bytes().data(), sizeof raw);
  header.checksum = raw.checksum;
  parts.push_back(header);
  parts.push_back({"manifest", "", sizeof(Header), opened->manifestBytes,
                   opened->manifestChecksum, Verified::Good});
  uint64_t begin = sizeof(Header) + alignUp(opened->manifestBytes);
  std::vector<std::string> uses(manifest.sections_size());
  auto use = [&](uint32_t section, const std::string &what) {
    if (section && section <= uses.size())
      uses[section - 1] = what;
  };
  for (const manifest::Constant &constant : manifest.constants())
    use(constant.section(), "constant '" + constant.info().name() + "'");
  for (const manifest::Target &target : manifest.targets()) {
    use(target.code_section(), "code of " + target.target());
    use(target.cubin_section(), "cubin of " + target.target());
  }
  for (int i = 0; i < manifest.sections_size(); ++i) {
    const manifest::Section &section = manifest.sections(i);
    ArtifactPart part{uses[i].empty() ? "not used" : uses[i],
                      "",
                      begin + section.offset(),
                      section.bytes(),
                      section.checksum(),
                      Verified::No};
    if (verify)
      part.verified = opened->sectionCheck(i + 1)->verify().ok()
                          ? Verified::Good
                          : Verified::Bad;
    parts.push_back(std::move(part));
  }
  Program program;
  if (manifest.weight_files_size() > 0) {
    auto none = [](uint32_t, Blob &) { return true; };
    if (std::string problem = fromManifest(manifest, none, program);
        !problem.empty())
      return opened->contradicts(problem);
    if (Status status = readReferences(*opened, program); !status.ok())
      return status.error();
  }
  for (int i = 0; i < manifest.constants_size(); ++i) {
    const manifest::Constant &constant = manifest.constants(i);
    if (!constant.file())
      continue;
    ArtifactPart part{"constant '" + constant.info().name() + "'",
                      manifest.weight_files(constant.file() - 1).path(),
                      constant.file_offset(),
                      program.constants[i].bytes.size(),
                      constant.file_checksum(),
                      Verified::No};
    if (verify)
      part.verified =
          program.constants[i].verify().ok() ? Verified::Good : Verified::Bad;
    parts.push_back(std::move(part));
  }
  return parts;
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
