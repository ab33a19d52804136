//===- ptxtest_reader.cpp - .ptxtest files -> cases -----------------------===//
//
// Lines that begin in the first column are `key: value` (or `case NAME`);
// indented lines continue the key above. Everything is checked: a case that
// says nothing about its result is a mistake.
//
//===----------------------------------------------------------------------===//
#include "tests/simulator/support/ptxtest.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace lockstitch::ptxtest {

namespace {

std::string trim(const std::string &s) {
  size_t a = s.find_first_not_of(" \t\r"), b = s.find_last_not_of(" \t\r");
  return a == std::string::npos ? "" : s.substr(a, b - a + 1);
}

std::vector<std::string> words(const std::string &s) {
  std::vector<std::string> out;
  std::string now;
  bool quoted = false;
  for (char c : s) {
    if (c == '"')
      quoted = !quoted;
    else if (!quoted && (c == ' ' || c == '\t' || c == '\n')) {
      if (!now.empty())
        out.push_back(now);
      now.clear();
    } else
      now += c;
  }
  if (!now.empty())
    out.push_back(now);
  return out;
}

bool typeOf(const std::string &name, Type &type) {
  using K = Type::Kind;
  struct Row {
    const char *name;
    unsigned bytes;
    K kind;
  };
  static const Row Rows[] = {
      {"b8", 1, K::Bits},    {"u8", 1, K::Bits},       {"s8", 1, K::Signed},
      {"b16", 2, K::Bits},   {"u16", 2, K::Bits},      {"s16", 2, K::Signed},
      {"b32", 4, K::Bits},   {"u32", 4, K::Bits},      {"s32", 4, K::Signed},
      {"b64", 8, K::Bits},   {"u64", 8, K::Bits},      {"s64", 8, K::Signed},
      {"f16", 2, K::Half},   {"bf16", 2, K::BFloat},   {"f32", 4, K::Float},
      {"f64", 8, K::Double}, {"pred", 1, K::Predicate}};
  for (const Row &row : Rows)
    if (name == row.name) {
      type = {name, row.bytes, row.kind};
      return true;
    }
  return false;
}

/// A decimal that the narrow type holds exactly; anything else must be given
/// as bits, so that no rounding of the reader's hides in an expected value.
bool narrowExact(double value, unsigned mantissa, int minExponent,
                 int maxExponent, uint64_t &bits) {
  uint64_t sign = std::signbit(value) ? 1 : 0;
  unsigned width = 15;
  double m = std::fabs(value);
  if (m == 0) {
    bits = sign << width;
    return true;
  }
  if (std::isinf(m)) {
    bits = sign << width | ((uint64_t)(maxExponent - minExponent + 2))
                               << mantissa;
    return true;
  }
  int e;
  std::frexp(m, &e);
  --e;
  int unit = std::max(e, minExponent) - (int)mantissa;
  double scaled = std::ldexp(m, -unit);
  if (scaled != std::floor(scaled) || e > maxExponent)
    return false;
  uint64_t integer = (uint64_t)scaled;
  if (e >= minExponent)
    integer += (uint64_t)(e - minExponent) << mantissa;
  bits = sign << width | integer;
  return true;
}

bool parseValue(const std::string &text, const Type &type, Value &value) {
  using K = Type::Kind;
  value = {};
  if (text == "?") {
    value.any = true;
    return true;
  }
  bool floating = type.kind == K::Half || type.kind == K::BFloat ||
                  type.kind == K::Float || type.kind == K::Double;
  bool hex = text.rfind("0x", 0) == 0;
  char *end = nullptr;
  if (!floating || hex) {
    errno = 0;
    value.bits = text[0] == '-' ? (uint64_t)std::strtoll(text.c_str(), &end, 0)
                                : std::strtoull(text.c_str(), &end, 0);
    if (errno || *end)
      return false;
    uint64_t mask = type.bytes == 8 ? ~0ull : (1ull << 8 * type.bytes) - 1;
    int64_t s = (int64_t)value.bits;
    if (text[0] == '-' ? s < -(int64_t)(mask >> 1) - 1
                       : (value.bits & ~mask) != 0)
      return false;
    value.bits &= mask;
    return true;
  }
  if (text == "nan") {
    value.anyNaN = true;
    switch (type.kind) {
    case K::Half:
    case K::BFloat:
      value.bits = 0x7FFF;
      break;
    case K::Float:
      value.bits = 0x7FFFFFFF;
      break;
    default:
      value.bits = 0x7FF8000000000000ull;
    }
    return true;
  }
  if (type.kind == K::Float) {
    float f = std::strtof(text.c_str(), &end);
    uint32_t u;
    std::memcpy(&u, &f, 4);
    value.bits = u;
    return !*end;
  }
  double d = std::strtod(text.c_str(), &end);
  if (*end)
    return false;
  if (type.kind == K::Double) {
    std::memcpy(&value.bits, &d, 8);
    return true;
  }
  return type.kind == K::Half ? narrowExact(d, 10, -14, 15, value.bits)
                              : narrowExact(d, 7, -126, 127, value.bits);
}

/// Tokens: a value, `V*N`, `A..B`, `A..B/STEP`, a last `...`.
bool parseValues(const std::string &text, Data &data, std::string &why) {
  for (std::string token : words(text)) {
    if (data.fill) {
      why = "nothing may follow '...'";
      return false;
    }
    if (token == "...") {
      data.fill = true;
      continue;
    }
    uint64_t times = 1;
    if (size_t star = token.find('*'); star != std::string::npos) {
      times = std::strtoull(token.c_str() + star + 1, nullptr, 0);
      token = token.substr(0, star);
    }
    if (size_t dots = token.find(".."); dots != std::string::npos) {
      long long a = std::strtoll(token.c_str(), nullptr, 0);
      char *end = nullptr;
      long long b = std::strtoll(token.c_str() + dots + 2, &end, 0);
      long long step = *end == '/' ? std::strtoll(end + 1, nullptr, 0) : 1;
      if (step == 0 || (b - a) / step < 0 || (b - a) / step > (1 << 22)) {
        why = "bad range '" + token + "'";
        return false;
      }
      for (long long v = a; step > 0 ? v <= b : v >= b; v += step) {
        Value value;
        if (!parseValue(std::to_string(v), data.type, value)) {
          why = "bad value '" + std::to_string(v) + "' in '" + token + "'";
          return false;
        }
        data.values.push_back(value);
      }
      continue;
    }
    Value value;
    if (!parseValue(token, data.type, value) || times > (1 << 22)) {
      why = "'" + token + "' is no " + data.type.name;
      return false;
    }
    data.values.insert(data.values.end(), times, value);
  }
  if (data.values.empty()) {
    why = "no values";
    return false;
  }
  return true;
}

class Reader {
public:
  Reader(std::vector<Case> &cases, std::vector<std::string> &mistakes)
      : Cases(cases), Mistakes(mistakes) {}

  void file(const std::string &path);

private:
  void mistake(const std::string &what) {
    Mistakes.push_back(Path + ":" + std::to_string(KeyLine) + ": " + what);
  }
  void key(const std::string &head, const std::string &tail,
           const std::string &block);
  void data(const std::vector<std::string> &head, const std::string &values);
  void finding(const std::string &key, const std::string &tail);
  void finish();

  std::vector<Case> &Cases;
  std::vector<std::string> &Mistakes;
  std::string Path;
  uint32_t KeyLine = 0;
  Case Now;
  bool Open = false, Clean = false;
  std::string From; // of the whole file
};

void triple(const std::string &text, uint32_t *out) {
  std::sscanf(text.c_str(), "%u,%u,%u", &out[0], &out[1], &out[2]);
}

void Reader::file(const std::string &path) {
  std::ifstream in(path);
  Path = std::filesystem::path(path).filename();
  From.clear();
  std::string line, head, tail, block;
  uint32_t number = 0;
  bool any = false;
  auto flush = [&] {
    if (any)
      key(head, tail, block);
    any = false;
    block.clear();
  };
  while (std::getline(in, line)) {
    ++number;
    bool blank = trim(line).empty();
    if (blank || line[0] == ' ' || line[0] == '\t') {
      block += line + "\n";
      continue;
    }
    if (line[0] == '#')
      continue;
    flush();
    KeyLine = number;
    any = true;
    if (line.rfind("case ", 0) == 0) {
      head = "case";
      tail = trim(line.substr(5));
      continue;
    }
    size_t colon = line.find(':');
    if (colon == std::string::npos) {
      head = trim(line);
      tail.clear();
    } else {
      head = line.substr(0, colon);
      tail = trim(line.substr(colon + 1));
    }
  }
  flush();
  finish();
}

void Reader::key(const std::string &head, const std::string &tail,
                 const std::string &block) {
  if (head == "case") {
    uint32_t line = KeyLine;
    finish();
    Now = {};
    Now.name = tail;
    Now.file = Path;
    Now.line = line;
    Now.from = From;
    Open = true;
    Clean = false;
    return;
  }
  if (!Open) {
    if (head == "from")
      From = tail;
    else
      mistake("'" + head + "' before the first case");
    return;
  }
  std::vector<std::string> parts = words(head);
  std::string more = trim(tail + " " + block);
  if (parts.empty())
    return mistake("no key");
  const std::string &k = parts[0];
  if (k == "rule")
    Now.rule = more;
  else if (k == "from")
    Now.from = more;
  else if (k == "target")
    Now.target = tail;
  else if (k == "version")
    Now.version = tail;
  else if (k == "assembler")
    Now.assembles = tail != "no";
  else if (k == "module")
    Now.module = tail + "\n" + block;
  else if (k == "code")
    Now.code = tail + "\n" + block;
  else if (k == "ptx")
    Now.ptx = tail + "\n" + block;
  else if (k == "kernel")
    Now.kernel = tail;
  else if (k == "grid")
    triple(tail, Now.grid);
  else if (k == "block")
    triple(tail, Now.block);
  else if (k == "shared")
    Now.shared = (uint32_t)std::strtoul(tail.c_str(), nullptr, 0);
  else if (k == "cooperative")
    Now.cooperative = true;
  else if (k == "budget")
    Now.budget = std::strtoull(tail.c_str(), nullptr, 0);
  else if (k == "seeds")
    Now.seeds = (uint32_t)std::strtoul(tail.c_str(), nullptr, 0);
  else if (k == "perturb")
    Now.perturb = tail;
  else if (k == "clean")
    Clean = true;
  else if (k == "in" || k == "arg" || k == "out")
    data(parts, more);
  else if (k == "finding" || k == "sometimes" || k == "may")
    finding(k, more);
  else if (k == "count") {
    if (parts.size() != 2)
      return mistake("count: needs a name");
    Now.counters.push_back({parts[1], std::strtoull(tail.c_str(), nullptr, 0)});
  } else if (k == "error") {
    std::vector<std::string> w = words(more);
    Now.error = w.empty() ? "" : w[0];
    if (w.size() == 3 && w[1] == "at")
      Now.errorAt = w[2];
    if (Now.error.empty())
      mistake("error: needs a text");
  } else
    mistake("unknown key '" + k + "'");
}

void Reader::data(const std::vector<std::string> &head,
                  const std::string &values) {
  Data d;
  if (head.size() < 2)
    return mistake("a name is missing");
  d.name = head[1];
  size_t next = 2;
  if (head[0] == "out" && d.name[0] != '%') {
    // An output of a kernel is one of its arguments.
    auto it = std::find_if(Now.inputs.begin(), Now.inputs.end(),
                           [&](const Data &x) { return x.name == d.name; });
    if (it == Now.inputs.end())
      return mistake("no argument '" + d.name + "'");
    d.type = it->type;
    d.count = it->count;
    d.isBuffer = true;
  } else {
    if (head.size() < 3)
      return mistake("a type is missing");
    std::string type = head[2];
    next = 3;
    if (size_t bracket = type.find('['); bracket != std::string::npos) {
      d.count = std::strtoull(type.c_str() + bracket + 1, nullptr, 0);
      d.isBuffer = true;
      type = type.substr(0, bracket);
    }
    if (!typeOf(type, d.type))
      return mistake("unknown type '" + type + "'");
  }
  for (; next < head.size(); ++next) {
    const std::string &w = head[next];
    if (w == "readonly")
      d.readOnly = true;
    else if (w.rfind("ulp=", 0) == 0)
      d.ulps = (uint32_t)std::strtoul(w.c_str() + 4, nullptr, 0);
    else if (w.rfind("arena=", 0) == 0) {
      char *end = nullptr;
      d.arenaBytes = std::strtoull(w.c_str() + 6, &end, 0);
      d.arenaOffset = *end == '@' ? std::strtoull(end + 1, nullptr, 0) : 0;
    } else
      return mistake("unknown word '" + w + "'");
  }
  std::string why;
  if (!(d.isBuffer && d.count == 0 && values.empty()) &&
      !parseValues(values, d, why))
    return mistake(d.name + ": " + why);
  if (d.isBuffer && d.values.size() != d.count) {
    if (d.fill && d.values.size() < d.count)
      d.values.resize(d.count, d.values.back());
    else
      return mistake(d.name + ": " + std::to_string(d.values.size()) +
                     " values for " + std::to_string(d.count));
  }
  (head[0] == "out" ? Now.outputs : Now.inputs).push_back(d);
}

void Reader::finding(const std::string &key, const std::string &tail) {
  Expectation e;
  e.how = key == "finding"     ? Expectation::How::Always
          : key == "sometimes" ? Expectation::How::Sometimes
                               : Expectation::How::May;
  std::vector<std::string> w = words(tail);
  if (w.empty())
    return mistake("finding: needs a kind");
  static const char *Kinds[] = {
      "out-of-bounds", "misaligned", "uninitialised", "race",  "barrier",
      "shuffle",       "deadlock",   "read-only",     "limit", "trap"};
  e.kind = w[0];
  if (std::find(std::begin(Kinds), std::end(Kinds), e.kind) == std::end(Kinds))
    return mistake("unknown kind '" + e.kind + "'");
  for (size_t i = 1; i < w.size(); ++i) {
    auto value = [&](const char *name, std::string &out) {
      size_t n = std::strlen(name);
      if (w[i].compare(0, n, name) != 0 || w[i][n] != '=')
        return false;
      out = w[i].substr(n + 1);
      return true;
    };
    std::string offset;
    if (w[i] == "at" && i + 1 < w.size())
      e.at = w[++i];
    else if (value("message", e.message) || value("block", e.block) ||
             value("thread", e.thread) || value("tensor", e.tensor) ||
             value("source", e.source))
      continue;
    else if (value("offset", offset))
      e.offset = std::strtoll(offset.c_str(), nullptr, 0);
    else
      return mistake("unknown word '" + w[i] + "'");
  }
  Now.findings.push_back(e);
}

void Reader::finish() {
  if (!Open)
    return;
  Open = false;
  KeyLine = Now.line;
  for (const Case &other : Cases)
    if (other.name == Now.name)
      return mistake("a second case '" + Now.name + "'");
  if (Now.rule.empty() || Now.from.empty())
    return mistake("'" + Now.name +
                   "' does not say its rule, or from where "
                   "its values are");
  if (Now.code.empty() == Now.ptx.empty())
    return mistake("'" + Now.name + "' needs either code or ptx");
  if (Now.outputs.empty() && Now.findings.empty() && Now.error.empty() &&
      Now.counters.empty() && !Clean)
    return mistake("'" + Now.name + "' expects nothing");
  if (Clean && !Now.findings.empty())
    return mistake("'" + Now.name + "' is clean and has findings");
  if (!Now.code.empty()) {
    // One thread per value.
    size_t lanes = 1;
    for (const Data &d : Now.inputs)
      lanes = std::max(lanes, d.values.size());
    for (const Data &d : Now.outputs)
      lanes = std::max(lanes, d.values.size());
    if (Now.block[0] != 1)
      lanes = Now.block[0];
    Now.block[0] = (uint32_t)lanes;
    for (std::vector<Data> *list : {&Now.inputs, &Now.outputs})
      for (Data &d : *list) {
        if (d.values.size() != lanes && d.values.size() != 1 && !d.fill)
          return mistake("'" + Now.name + "': " + d.name + " has " +
                         std::to_string(d.values.size()) + " values for " +
                         std::to_string(lanes) + " threads");
        d.values.resize(lanes, d.values.back());
      }
  }
  Cases.push_back(Now);
}

} // namespace

std::vector<Case> readCases(const std::string &directory,
                            std::vector<std::string> &mistakes) {
  std::vector<Case> cases;
  std::vector<std::string> paths;
  for (const auto &entry :
       std::filesystem::recursive_directory_iterator(directory))
    if (entry.path().extension() == ".ptxtest")
      paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  Reader reader(cases, mistakes);
  for (const std::string &path : paths)
    reader.file(path);
  if (paths.empty())
    mistakes.push_back("no .ptxtest files below " + directory);
  return cases;
}

} // namespace lockstitch::ptxtest
