#include "tools/lockstitch/inputs.h"

#include "tools/lockstitch/text.h"

#include <filesystem>

namespace lockstitch::tool {
namespace {

namespace fs = std::filesystem;

std::string listNames(const std::vector<InputDeclaration> &declared) {
  std::vector<std::string> names;
  for (const InputDeclaration &input : declared)
    names.push_back(input.text);
  return names.empty() ? "it has no inputs" : "its inputs: " + join(names);
}

std::string place(const InputDeclaration &input) {
  return "input '" + input.name + "'";
}

/// The declared input that NAME of NAME=FILE means: the first '=' whose left
/// side is an input's name.
std::optional<std::pair<size_t, std::string>>
matchInput(const std::vector<InputDeclaration> &declared,
           const std::string &text) {
  for (size_t at = text.find('='); at != std::string::npos;
       at = text.find('=', at + 1))
    for (size_t i = 0; i < declared.size(); ++i)
      if (text.compare(0, at, declared[i].name) == 0)
        return std::pair(i, text.substr(at + 1));
  return std::nullopt;
}

/// Checks the element type; bits of a 16-bit integer become bf16 where that is
/// wanted.
Status acceptType(Array &array, const InputDeclaration &input,
                  const std::string &path) {
  if (!input.type || array.type == *input.type)
    return {};
  if (*input.type == ElementType::BF16 && array.type == ElementType::U16) {
    array.type = ElementType::BF16;
    return {};
  }
  return Error::refused(
      place(input),
      "'" + path + "' holds " + describe(array.type, array.shape) +
          ", but the input is " + input.text,
      "convert the file to " + std::string(lockstitch::name(*input.type)));
}

Error missing(const std::vector<std::string> &names) {
  Error error{ErrorKind::Refused, {}};
  for (const std::string &name : names)
    error.messages.push_back(
        {"", "input '" + name + "'", "is not given",
         "give --input " + name +
             "=FILE, --data-set DIR, or --random SEED for made-up values"});
  return error;
}

} // namespace

Result<std::vector<std::string>> listDataSet(const std::string &folder,
                                             const std::string &prefix) {
  std::error_code code;
  if (!fs::is_directory(folder, code))
    return Error::refused(
        "--data-set", "there is no folder '" + folder + "'",
        "name a folder with input_0.pb, output_0.pb ... as in ONNX's tests");
  std::vector<std::string> files;
  while (true) {
    fs::path file = fs::path(folder) /
                    (prefix + "_" + std::to_string(files.size()) + ".pb");
    if (!fs::exists(file, code))
      return files;
    files.push_back(file.string());
  }
}

Result<std::map<size_t, Array>>
readGivenInputs(const std::vector<InputDeclaration> &declared,
                const ModelOptions &options) {
  std::map<size_t, std::string> files;
  if (!options.dataSet.empty()) {
    Result<std::vector<std::string>> listed =
        listDataSet(options.dataSet, "input");
    if (!listed.ok())
      return listed.error();
    if (listed->size() > declared.size())
      return Error::refused("--data-set",
                            "'" + options.dataSet + "' has " +
                                count(listed->size(), "input file") +
                                ", the model " +
                                count(declared.size(), "input"),
                            listNames(declared));
    if (listed->empty() && !declared.empty())
      return Error::refused(
          "--data-set", "'" + options.dataSet + "' has no input_0.pb",
          "name a folder with input_0.pb, output_0.pb ... as in ONNX's tests");
    for (size_t i = 0; i < listed->size(); ++i)
      files[i] = (*listed)[i];
  }
  std::map<size_t, std::string> explicitFiles;
  for (const std::string &text : options.inputs) {
    auto match = matchInput(declared, text);
    if (!match) {
      size_t at = text.find('=');
      if (at == std::string::npos)
        return Error::refused("--input",
                              "'" + text + "' has not the form NAME=FILE",
                              listNames(declared));
      return Error::refused(
          "--input", "the model has no input '" + text.substr(0, at) + "'",
          listNames(declared));
    }
    if (!explicitFiles.emplace(*match).second)
      return Error::refused(place(declared[match->first]), "is given twice",
                            "give each input once");
  }
  for (const auto &[index, file] : explicitFiles)
    files[index] = file;

  std::map<size_t, Array> arrays;
  Error error{ErrorKind::Refused, {}};
  for (const auto &[index, file] : files) {
    Result<Array> array = readArray(file, place(declared[index]));
    Status status = array.ok() ? acceptType(*array, declared[index], file)
                               : Status(array.error());
    if (!status.ok())
      error.messages.insert(error.messages.end(),
                            status.error().messages.begin(),
                            status.error().messages.end());
    else
      arrays.emplace(index, std::move(*array));
  }
  if (!error.messages.empty())
    return error;
  return arrays;
}

Status checkNoneMissing(const std::vector<InputDeclaration> &declared,
                        const std::map<size_t, Array> &given, bool random) {
  std::vector<std::string> names;
  for (size_t i = 0; i < declared.size() && !random; ++i)
    if (!given.contains(i))
      names.push_back(declared[i].name);
  if (names.empty())
    return {};
  return missing(names);
}

Result<std::vector<Array>> completeInputs(const std::vector<TensorInfo> &wanted,
                                          std::map<size_t, Array> given,
                                          std::optional<uint64_t> random,
                                          const std::string &artifact) {
  std::vector<Array> arrays;
  Error error{ErrorKind::Refused, {}};
  std::vector<std::string> names;
  for (size_t i = 0; i < wanted.size(); ++i) {
    auto found = given.find(i);
    if (found == given.end()) {
      if (random)
        arrays.push_back(randomArray(wanted[i], *random, i));
      else
        names.push_back(wanted[i].name);
      continue;
    }
    if (found->second.shape != wanted[i].extents()) {
      std::string has = describe(wanted[i].type, wanted[i].extents());
      std::string wayOut = artifact.empty()
                               ? "give a tensor of that shape"
                               : "give a tensor of that shape, or compile the "
                                 "model for another with --shape " +
                                     wanted[i].name + "=N,N...";
      error.messages.push_back(
          {"", "input '" + wanted[i].name + "'",
           (artifact.empty() ? "the program" : "'" + artifact + "'") +
               " was compiled for " + has + ", got " +
               describe(found->second.type, found->second.shape),
           wayOut});
      continue;
    }
    arrays.push_back(std::move(found->second));
  }
  if (!names.empty()) {
    Error more = missing(names);
    error.messages.insert(error.messages.end(), more.messages.begin(),
                          more.messages.end());
  }
  if (!error.messages.empty())
    return error;
  return arrays;
}

} // namespace lockstitch::tool
