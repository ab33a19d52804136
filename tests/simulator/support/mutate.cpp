//===- mutate.cpp - small faults in PTX texts -----------------------------===//
//
// Works line by line on text with one instruction per line, as compilers write
// it and as the hand-written kernels of these tests are.
//
//===----------------------------------------------------------------------===//
#include "tests/simulator/support/mutate.h"

#include <algorithm>
#include <cstdlib>

namespace lockstitch::simtest {

namespace {

bool isNameChar(char c) {
  return std::isalnum((unsigned char)c) || c == '_' || c == '$' || c == '.';
}

/// Where `.entry NAME` begins (with its linking directive) and its body ends.
bool findEntry(const std::string &text, size_t from, size_t &begin, size_t &end,
               std::string &name) {
  size_t entry = text.find(".entry ", from);
  if (entry == std::string::npos)
    return false;
  size_t a = entry + 7, b = a;
  while (b < text.size() && isNameChar(text[b]))
    ++b;
  name = text.substr(a, b - a);
  begin = text.rfind('\n', entry);
  begin = begin == std::string::npos ? 0 : begin + 1;
  size_t at = text.find('{', b);
  int depth = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == '{')
      ++depth;
    if (text[at] == '}' && --depth == 0)
      break;
  }
  end = std::min(at + 1, text.size());
  return true;
}

std::string trim(const std::string &s) {
  size_t a = s.find_first_not_of(" \t"), b = s.find_last_not_of(" \t\r\n");
  return a == std::string::npos ? "" : s.substr(a, b - a + 1);
}

bool startsWith(const std::string &s, const char *prefix) {
  return s.rfind(prefix, 0) == 0;
}

/// Bytes of one access of this opcode.
unsigned accessBytes(const std::string &opcode, const std::string &line) {
  if (startsWith(opcode, "cp.async")) {
    size_t comma = line.rfind(',');
    return (unsigned)std::strtoul(line.c_str() + comma + 1, nullptr, 10);
  }
  unsigned count = opcode.find(".v2.") != std::string::npos   ? 2
                   : opcode.find(".v4.") != std::string::npos ? 4
                                                              : 1;
  size_t dot = opcode.rfind('.');
  std::string type = opcode.substr(dot + 1);
  size_t digits = type.find_first_of("0123456789");
  unsigned bits = (unsigned)std::strtoul(type.c_str() + digits, nullptr, 10);
  if (type.find("x2") != std::string::npos)
    bits = 32;
  return std::max(1u, bits / 8) * count;
}

struct Line {
  size_t begin, end; // in the text, without the line break
  std::string guard, opcode, rest;
};

bool isInstruction(const std::string &text, Line &line) {
  std::string s = trim(text.substr(line.begin, line.end - line.begin));
  if (s.empty() || s[0] == '/' || s[0] == '.' || s[0] == '{' || s[0] == '}')
    return false;
  if (s[0] == '@') {
    size_t space = s.find_first_of(" \t");
    if (space == std::string::npos)
      return false;
    line.guard = s.substr(0, space);
    s = trim(s.substr(space));
  }
  size_t end = s.find_first_of(" \t;");
  if (end == std::string::npos)
    return false;
  line.opcode = s.substr(0, end);
  line.rest = s.substr(end);
  return true;
}

} // namespace

std::string extractKernel(const std::string &text, const std::string &kernel) {
  std::string out;
  size_t at = 0, begin, end;
  std::string name;
  while (findEntry(text, at, begin, end, name)) {
    out += text.substr(at, begin - at);
    if (name == kernel)
      out += text.substr(begin, end - begin);
    at = end;
  }
  return out + text.substr(at);
}

std::vector<Mutant> mutantsOf(const std::string &text, const Setup &setup) {
  std::vector<Mutant> out;
  unsigned numbers[4] = {};
  static const char *const Kinds[] = {"barrier", "index", "predicate",
                                      "shrink"};
  auto add = [&](unsigned kind, const std::string &what,
                 const std::string &mutated, const Options &options = {}) {
    out.push_back({Kinds[kind], numbers[kind]++, what, mutated, options});
  };
  auto replaced = [&](size_t begin, size_t end, const std::string &with) {
    return text.substr(0, begin) + with + text.substr(end);
  };
  size_t first, last;
  std::string name;
  if (!findEntry(text, 0, first, last, name))
    return out;
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\n', at);
    if (end == std::string::npos)
      end = text.size();
    Line line{at, end, {}, {}, {}};
    at = end + 1;
    std::string whole = trim(text.substr(line.begin, end - line.begin));
    // Arrays of shared memory, of the kernel or of the module.
    if (size_t shared = whole.find(".shared"); shared != std::string::npos &&
                                               whole[0] == '.' &&
                                               !startsWith(whole, ".extern")) {
      size_t open = text.find('[', line.begin);
      if (open != std::string::npos && open < end) {
        unsigned long size = std::strtoul(text.c_str() + open + 1, nullptr, 10);
        bool bytes = whole.find(".b8 ") != std::string::npos;
        // Compilers declare bytes; the elements are as large as the alignment.
        size_t align = whole.find(".align ");
        unsigned long element =
            !bytes || align == std::string::npos
                ? 1
                : std::min(4ul, std::strtoul(whole.c_str() + align + 7, nullptr,
                                             10));
        size_t close = text.find(']', open);
        add(3, whole,
            replaced(open + 1, close, std::to_string(size - element)));
      }
      continue;
    }
    if (line.begin < first || line.begin >= last || !isInstruction(text, line))
      continue;
    const std::string &op = line.opcode;
    if (startsWith(op, "bar.") || startsWith(op, "barrier.") ||
        startsWith(op, "membar.") || startsWith(op, "fence.") ||
        startsWith(op, "cp.async.wait"))
      add(0, whole, replaced(line.begin, line.end, ""));
    bool isAccess =
        startsWith(op, "ld.") || startsWith(op, "st.") ||
        startsWith(op, "atom.") || startsWith(op, "red.") ||
        (startsWith(op, "cp.async.") && op.find("global") != std::string::npos);
    if (isAccess && op.find(".param") == std::string::npos) {
      unsigned bytes = accessBytes(op, whole);
      size_t from = line.begin;
      while ((from = text.find('[', from)) != std::string::npos && from < end) {
        size_t close = text.find(']', from);
        add(1, whole, replaced(close, close, "+" + std::to_string(bytes)));
        from = close;
      }
    }
    if (!line.guard.empty()) {
      size_t guard = text.find('@', line.begin);
      add(2, whole, replaced(guard, guard + line.guard.size(), ""));
    }
  }
  if (setup.shared) {
    Options o;
    o.sharedLess = 4;
    add(3, "dynamic shared memory", text, o);
  }
  for (size_t i = 0; i < setup.arguments.size(); ++i)
    if (!setup.arguments[i].isScalar) {
      Options o;
      o.shrunk = (int)i;
      add(3, "buffer " + setup.arguments[i].name, text, o);
    }
  return out;
}

} // namespace lockstitch::simtest
