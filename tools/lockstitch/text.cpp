#include "tools/lockstitch/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstitch::tool {

std::string number(double value) { return fmt::format("{:.4g}", value); }

std::string byteCount(int64_t bytes) {
  if (bytes < 1024)
    return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes);
  for (const char *unit : {"KiB", "MiB", "GiB"}) {
    value /= 1024;
    if (value < 1024)
      return fmt::format("{:.1f} {}", value, unit);
  }
  return fmt::format("{:.1f} TiB", value / 1024);
}

std::string duration(double seconds) {
  if (seconds < 1e-3)
    return fmt::format("{:.1f} us", seconds * 1e6);
  if (seconds < 1)
    return fmt::format("{:.1f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

std::string hexadecimal(uint64_t value) {
  return fmt::format("{:016x}", value);
}

std::string count(int64_t n, const std::string &noun) {
  return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

std::string join(const std::vector<std::string> &parts,
                 const std::string &separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string joinShort(const std::vector<std::string> &parts, size_t most) {
  if (parts.size() <= most)
    return join(parts);
  return fmt::format("{} and {} more",
                     fmt::join(parts.begin(), parts.begin() + most, ", "),
                     parts.size() - most);
}

std::string shapeText(const std::vector<int64_t> &shape) {
  return fmt::format("{}", fmt::join(shape, "x"));
}

std::string Table::text(const std::string &indent) const {
  std::vector<size_t> widths;
  for (const auto &row : rows)
    for (size_t i = 0; i < row.size(); ++i) {
      widths.resize(std::max(widths.size(), i + 1));
      widths[i] = std::max(widths[i], row[i].size());
    }
  std::string all;
  for (const auto &row : rows) {
    std::string line = indent;
    for (size_t i = 0; i < row.size(); ++i) {
      if (i)
        line += "  ";
      if (std::find(right.begin(), right.end(), i) != right.end())
        line += fmt::format("{:>{}}", row[i], widths[i]);
      else
        line += fmt::format("{:<{}}", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    all += line + "\n";
  }
  return all;
}

} // namespace lockstitch::tool
