// Numbers and tables as text for people. The one user of {fmt}.
#ifndef LOCKSTITCH_TOOLS_LOCKSTITCH_TEXT_H
#define LOCKSTITCH_TOOLS_LOCKSTITCH_TEXT_H

#include <cstdint>
#include <string>
#include <vector>

namespace lockstitch::tool {

/// Four significant digits: "0.1234", "1.5e-07", "nan", "-inf".
std::string number(double value);
/// "17 B", "4.0 KiB", "1.2 GiB".
std::string byteCount(int64_t bytes);
/// "12.3 us", "4.5 ms", "1.20 s".
std::string duration(double seconds);
/// 16 hexadecimal digits.
std::string hexadecimal(uint64_t value);
/// "1 kernel", "2 kernels".
std::string count(int64_t n, const std::string &noun);
std::string join(const std::vector<std::string> &parts,
                 const std::string &separator = ", ");
/// At most `most` of `parts`, then "and N more".
std::string joinShort(const std::vector<std::string> &parts, size_t most);
/// "1x3x48".
std::string shapeText(const std::vector<int64_t> &shape);

/// Rows of cells under a header, columns aligned: numbers (columns named in
/// `right`) to the right.
class Table {
public:
  explicit Table(std::vector<std::string> header,
                 std::vector<size_t> right = {})
      : rows{std::move(header)}, right(std::move(right)) {}
  void add(std::vector<std::string> row) { rows.push_back(std::move(row)); }
  bool empty() const { return rows.size() == 1; }
  std::string text(const std::string &indent = "  ") const;

private:
  std::vector<std::vector<std::string>> rows;
  std::vector<size_t> right;
};

} // namespace lockstitch::tool

#endif // LOCKSTITCH_TOOLS_LOCKSTITCH_TEXT_H
