#include "cost_model/device.h"

#include "cost_model/embedded.h"

#include <charconv>
#include <cmath>

namespace lockstitch::cost {
namespace {

/// Where a key goes, and its unit as it must stand in the file.
struct Key {
  std::string_view name, unit;
  int64_t Device::*integer = nullptr;
  double Device::*real = nullptr;
  std::string Device::*text = nullptr;
  bool mayBeZero = false;
};

Key integer(std::string_view name, std::string_view unit,
            int64_t Device::*field, bool mayBeZero = false) {
  return {name, unit, field, nullptr, nullptr, mayBeZero};
}
Key real(std::string_view name, std::string_view unit, double Device::*field) {
  return {name, unit, nullptr, field, nullptr, false};
}
Key text(std::string_view name, std::string Device::*field) {
  return {name, "", nullptr, nullptr, field, false};
}

const std::vector<Key> &keys() {
  static const std::vector<Key> list = {
      text("name", &Device::name),
      text("product", &Device::product),
      integer("multiprocessors", "", &Device::multiprocessors),
      real("clock", "GHz", &Device::clockGHz),
      integer("issue", "warps/clock", &Device::issuePerClock),
      integer("registers_per_sm", "", &Device::registersPerSm),
      integer("registers_per_thread", "", &Device::registersPerThread),
      integer("register_unit", "", &Device::registerUnit),
      integer("shared_per_sm", "bytes", &Device::sharedPerSm),
      integer("shared_per_block", "bytes", &Device::sharedPerBlock),
      integer("shared_reserved", "bytes", &Device::sharedReserved, true),
      integer("shared_unit", "bytes", &Device::sharedUnit),
      integer("threads_per_block", "", &Device::threadsPerBlock),
      integer("threads_per_sm", "", &Device::threadsPerSm),
      integer("blocks_per_sm", "", &Device::blocksPerSm),
      integer("warp_size", "", &Device::warpSize),
      real("bandwidth", "GB/s", &Device::bandwidthGBs),
      real("sm_bandwidth", "bytes/clock", &Device::smBytesPerClock),
      real("latency", "ns", &Device::latencyNanoseconds),
      integer("l2", "bytes", &Device::l2Bytes),
      real("launch", "us", &Device::launchMicroseconds),
  };
  return list;
}

std::string_view trim(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos)
    return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

/// What is wrong with the value; empty if it was taken.
std::string assign(const Key &key, std::string_view value, Device &device) {
  if (key.text) {
    if (value.empty())
      return "has no value";
    device.*key.text = value;
    return {};
  }
  if (!key.unit.empty()) {
    if (!value.ends_with(key.unit))
      return "must be in " + std::string(key.unit);
    value = trim(value.substr(0, value.size() - key.unit.size()));
  }
  const char *end = value.data() + value.size();
  if (key.integer) {
    int64_t &number = device.*key.integer;
    auto [rest, code] = std::from_chars(value.data(), end, number);
    if (code != std::errc() || rest != end)
      return "is not a whole number: '" + std::string(value) + "'";
    if (number < 0 || (number == 0 && !key.mayBeZero))
      return "must be positive";
    return {};
  }
  double &number = device.*key.real;
  auto [rest, code] = std::from_chars(value.data(), end, number);
  if (code != std::errc() || rest != end || !std::isfinite(number))
    return "is not a number: '" + std::string(value) + "'";
  return number > 0 ? "" : "must be positive";
}

const std::vector<Device> &devices() {
  static const std::vector<Device> all = [] {
    std::vector<Device> list;
    for (const EmbeddedFile &file : embeddedDevices())
      if (Device device; !parseDevice(file.text, file.name,
                                      device)) // a test parses each of them
        list.push_back(device);
    return list;
  }();
  return all;
}

} // namespace

std::optional<std::string> parseDevice(std::string_view text,
                                       std::string_view file, Device &device) {
  device = {};
  std::vector<int> seenAt(keys().size(), 0);
  int line = 0;
  auto error = [&](const std::string &reason) {
    return std::string(file) + ":" + std::to_string(line) + ": " + reason;
  };
  while (!text.empty()) {
    size_t end = text.find('\n');
    std::string_view content = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view()
                                         : text.substr(end + 1);
    ++line;
    content = trim(content.substr(0, content.find('#')));
    if (content.empty())
      continue;
    size_t space = content.find_first_of(" \t");
    std::string_view name = content.substr(0, space);
    std::string_view value = space == std::string_view::npos
                                 ? std::string_view()
                                 : trim(content.substr(space));
    size_t index = 0;
    while (index < keys().size() && keys()[index].name != name)
      ++index;
    if (index == keys().size())
      return error("unknown key '" + std::string(name) + "'");
    if (seenAt[index])
      return error("'" + std::string(name) + "' was given in line " +
                   std::to_string(seenAt[index]) + " already");
    seenAt[index] = line;
    if (std::string reason = assign(keys()[index], value, device);
        !reason.empty())
      return error("'" + std::string(name) + "' " + reason);
  }
  for (size_t i = 0; i < keys().size(); ++i)
    if (!seenAt[i])
      return error("'" + std::string(keys()[i].name) + "' is missing");
  return std::nullopt;
}

const Device *findDevice(std::string_view name) {
  if (name.starts_with("x86-64"))
    name = "host";
  for (const Device &device : devices())
    if (device.name == name)
      return &device;
  return nullptr;
}

std::vector<std::string> deviceNames() {
  std::vector<std::string> names;
  for (const Device &device : devices())
    names.push_back(device.name);
  return names;
}

std::string_view deviceText(std::string_view name) {
  for (const EmbeddedFile &file : embeddedDevices())
    if (file.name == std::string(name) + ".txt")
      return file.text;
  return {};
}

} // namespace lockstitch::cost
