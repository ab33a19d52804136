#include "frontends/onnx/mapped_file.h"

#include <cstring>

namespace lockstitch::onnx {

Result<std::shared_ptr<const MappedFile>>
MappedFile::open(const std::string &path, const std::string &what) {
  FileBytes::Opened opened = FileBytes::open(path);
  std::string cause = std::strerror(opened.code);
  switch (opened.problem) {
  case FileBytes::Problem::None:
    break;
  case FileBytes::Problem::NoSuchFile:
    return Error::refused(path, "no such file", "give the path of a " + what);
  case FileBytes::Problem::CannotOpen:
    return Error::refused(path, "the file cannot be opened: " + cause,
                          "check its permissions");
  case FileBytes::Problem::CannotExamine:
    return Error::refused(path, "the file cannot be examined: " + cause);
  case FileBytes::Problem::Directory:
    return Error::refused(path, "this is a directory, not a file",
                          "give the path of a " + what);
  case FileBytes::Problem::NotRegular:
    return Error::refused(path,
                          "this is not a regular file, so it cannot be mapped",
                          "copy it into a file first");
  case FileBytes::Problem::Empty:
    return Error::refused(
        path, "the file is empty",
        "it may not have been downloaded or written completely");
  case FileBytes::Problem::CannotMap:
    return Error::refused(path,
                          "the file cannot be mapped into memory: " + cause);
  }
  return std::shared_ptr<const MappedFile>(
      new MappedFile(std::move(opened.file)));
}

} // namespace lockstitch::onnx
