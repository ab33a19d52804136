// Reads the text form of a primitive graph; primitive_graph_text.cpp, which
// prints it, shows what it looks like.
#include "compiler/graph/primitive_graph.h"

#include "compiler/graph/loop.h"
#include "runtime/program/float16.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>

namespace lockstitch {
namespace {

void storeElement(ElementType type, const std::string &text, std::byte *at) {
  double real = std::strtod(text.c_str(), nullptr);
  uint64_t integer =
      text.starts_with("-")
          ? static_cast<uint64_t>(std::strtoll(text.c_str(), nullptr, 10))
          : std::strtoull(text.c_str(), nullptr, 10);
  auto put = [&](auto value) { std::memcpy(at, &value, sizeof value); };
  switch (type) {
  case ElementType::F16:
    return put(doubleToHalf(real));
  case ElementType::BF16:
    return put(doubleToBFloat16(real));
  case ElementType::F32:
    return put(static_cast<float>(real));
  case ElementType::F64:
    return put(real);
  default: // little-endian: the low bytes
    std::memcpy(at, &integer, byteSize(type));
  }
}

/// A line-oriented parser: each line is one statement or one scalar operation.
class Parser {
public:
  Parser(std::string_view text, PrimitiveGraph &graph, std::string &error)
      : graph(graph), error(error) {
    size_t begin = 0;
    while (begin <= text.size()) {
      size_t end = text.find('\n', begin);
      if (end == std::string_view::npos)
        end = text.size();
      lines.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }

  bool run(bool isBody = false) {
    while (next()) {
      if (isBody && word("end"))
        return true;
      if (word("graph")) {
        if (!quoted(graph.name))
          return fail("expected a name in quotes");
      } else if (word("output")) {
        std::string name;
        int64_t value;
        if (!quoted(name) || !reference(value) ||
            value >= static_cast<int64_t>(graph.values.size()))
          return fail("expected output \"name\" %value");
        graph.outputNames.push_back(name);
        graph.outputs.push_back(static_cast<ValueId>(value));
      } else if (!definition()) {
        return false;
      }
    }
    return !isBody || fail("expected end");
  }

private:
  /// For the body of a loop: the lines that follow.
  Parser(const Parser &outer, PrimitiveGraph &body)
      : graph(body), error(outer.error), lines(outer.lines),
        lineNumber(outer.lineNumber) {}

  bool directions(std::vector<bool> &reversed) {
    skip();
    for (; at < line.size() && (line[at] == '+' || line[at] == '-'); ++at)
      reversed.push_back(line[at] == '-');
    return !reversed.empty();
  }

  bool loopHead(Loop &loop) {
    int64_t trips, carried;
    if (!word("trips") || !number(trips) || !word("carried") ||
        !number(carried) || carried < 0)
      return fail("expected trips N carried N");
    loop.trips = trips;
    loop.carried = static_cast<uint32_t>(carried);
    if ((word("slices") && !directions(loop.slices)) ||
        (word("collected") && !directions(loop.collected)))
      return fail("expected a + or - for each slice");
    return true;
  }

  bool definition() {
    int64_t id;
    if (!reference(id) || !word("="))
      return fail("expected graph, output, or %n = ...");
    if (id != static_cast<int64_t>(graph.values.size()))
      return fail("values must be numbered in order; expected %" +
                  std::to_string(graph.values.size()));
    std::string name;
    TensorType type;
    if (word("input")) {
      if (!quoted(name) || !tensorType(type))
        return fail("expected input \"name\" type");
      graph.addInput(name, type);
      return true;
    }
    if (word("constant")) {
      if (!quoted(name) || !tensorType(type))
        return fail("expected constant \"name\" type");
      std::vector<std::byte> bytes(type.bytes());
      if (word("{"))
        for (int64_t i = 0; i < type.elements(); ++i) {
          std::string value = token();
          if (value.empty())
            return fail("expected " + std::to_string(type.elements()) +
                        " values");
          storeElement(type.element, value,
                       bytes.data() + i * byteSize(type.element));
          word(",");
        }
      graph.addConstant(name, type, ConstantData::own(std::move(bytes)));
      return true;
    }
    Primitive primitive;
    if (!kind(primitive.kind))
      return fail("expected input, constant, pull, reduce, library, scan, "
                  "push, sort, loop or project");
    if (!quoted(primitive.name) || !tensorType(type) || !word("("))
      return fail("expected \"name\" type (operands)");
    while (!word(")")) {
      int64_t operand;
      if (!reference(operand) || operand >= id)
        return fail("expected an earlier value");
      primitive.operands.push_back(static_cast<ValueId>(operand));
      word(",");
    }
    std::shared_ptr<Loop> loop;
    if (primitive.kind == Primitive::Kind::Loop) {
      loop = std::make_shared<Loop>();
      if (!loopHead(*loop))
        return false;
    }
    if (primitive.kind == Primitive::Kind::Project) {
      int64_t result;
      if (!word("result") || !number(result) || result < 0)
        return fail("expected result N");
      primitive.projection = static_cast<uint32_t>(result);
    }
    if (word("over") && !shape(primitive.domain))
      return fail("expected a shape");
    int64_t folding = 0;
    if (word("folding") && !number(folding))
      return fail("expected a number");
    primitive.reducedDims = static_cast<unsigned>(folding);
    int64_t along = 0;
    if (word("along") && !number(along))
      return fail("expected a number");
    primitive.along = static_cast<unsigned>(along);
    primitive.descending = word("descending");
    if (word("to")) {
      size_t end = std::min(line.find(" from ", at), line.size());
      if (!parseIndexMap(line.substr(at, end - at), primitive.target, error))
        return fail(error);
      at = end;
    }
    if (word("from"))
      while (peek('"')) {
        std::string node;
        if (!quoted(node))
          return fail("expected a node in quotes");
        primitive.origins.push_back(origin(node));
      }
    if (primitive.kind == Primitive::Kind::Library) {
      if (!word(":") || !libraryCall(primitive.call))
        return fail("expected ': matmul ...' or ': conv ...'");
    } else if (loop) {
      Parser body(*this, loop->body);
      if (!body.run(true))
        return false;
      lineNumber = body.lineNumber;
      primitive.loop = std::move(loop);
    } else if (primitive.kind != Primitive::Kind::Project) {
      if (!program(primitive.body))
        return false;
      bool folds = primitive.kind == Primitive::Kind::Reduce ||
                   primitive.kind == Primitive::Kind::Scan ||
                   primitive.kind == Primitive::Kind::Push;
      if (folds && !reducer(primitive.reducer))
        return false;
    }
    graph.add(std::move(primitive), type);
    return true;
  }

  bool kind(Primitive::Kind &kind) {
    using Kind = Primitive::Kind;
    for (Kind candidate : {Kind::Pull, Kind::Reduce, Kind::Library, Kind::Scan,
                           Kind::Push, Kind::Sort, Kind::Loop, Kind::Project})
      if (word(toString(candidate))) {
        kind = candidate;
        return true;
      }
    return false;
  }

  bool reducer(Reducer &reducer) {
    if (!next() || !word("init"))
      return fail("expected init");
    while (!atEnd()) {
      ElementType type;
      ScalarConstant constant;
      if (!elementType(type) || !scalarConstant(type, constant))
        return fail("expected a type and a value");
      reducer.types.push_back(type);
      reducer.init.push_back(constant);
    }
    for (auto [title, program] : {std::pair{"update", &reducer.update},
                                  std::pair{"combine", &reducer.combine},
                                  std::pair{"finish", &reducer.finish}}) {
      if (!next() || !word(title))
        return fail(std::string("expected ") + title);
      if (!this->program(*program))
        return false;
    }
    return true;
  }

  bool program(ScalarProgram &program) {
    while (next()) {
      int64_t id;
      if (word("yield")) {
        while (!atEnd()) {
          if (!reference(id) || id >= static_cast<int64_t>(program.ops.size()))
            return fail("yield of a value that is not there");
          program.results.push_back(static_cast<ScalarId>(id));
          word(",");
        }
        return true;
      }
      if (!reference(id) || id != static_cast<int64_t>(program.ops.size()) ||
          !word("="))
        return fail("expected %" + std::to_string(program.ops.size()) +
                    " = ... or yield");
      ScalarOp op{};
      auto opcode = parseScalarOpcode(token());
      if (!opcode || !elementType(op.type))
        return fail("expected an operation and a type");
      op.opcode = *opcode;
      if (!payload(op))
        return false;
      while (!atEnd()) {
        if (!reference(id) || id >= static_cast<int64_t>(program.ops.size()))
          return fail("expected an earlier value");
        op.args.push_back(static_cast<ScalarId>(id));
        word(",");
      }
      program.ops.push_back(std::move(op));
    }
    return fail("expected yield");
  }

  bool payload(ScalarOp &op) {
    int64_t value = 0;
    switch (op.opcode) {
    case ScalarOpcode::Argument:
      if (!number(value))
        return fail("expected a number");
      op.operand = static_cast<uint32_t>(value);
      return true;
    case ScalarOpcode::Constant:
      return scalarConstant(op.type, op.constant) ||
             fail("expected a constant");
    case ScalarOpcode::Index:
    case ScalarOpcode::InRange: {
      skip();
      size_t close = line.find(']', at);
      if (at >= line.size() || line[at] != '[' ||
          close == std::string_view::npos)
        return fail("expected [expression]");
      if (!parseIndexExpr(line.substr(at + 1, close - at - 1), op.index, error))
        return fail(error);
      at = close + 1;
      if (op.opcode == ScalarOpcode::InRange &&
          (!number(op.lo) || !word("..") || !number(op.hi)))
        return fail("expected low .. high");
      return true;
    }
    case ScalarOpcode::Read: {
      if (!word("#") || !number(value) || !word("at"))
        return fail("expected #operand at map");
      op.operand = static_cast<uint32_t>(value);
      size_t end = line.find(" with ", at);
      std::string_view text =
          line.substr(at, end == std::string_view::npos ? end : end - at);
      if (!parseIndexMap(text, op.map, error))
        return fail(error);
      at = end == std::string_view::npos ? line.size() : end + 6;
      return true;
    }
    default:
      return true;
    }
  }

  bool libraryCall(LibraryCall &call) {
    auto number32 = [&](float &value) {
      std::string text = token();
      value = std::strtof(text.c_str(), nullptr);
      return !text.empty();
    };
    if (word("matmul")) {
      MatMulCall &m = call.matmul;
      call.kind = LibraryCall::Kind::MatMul;
      if (!elementType(m.type) || !word("batch") || !numbers(m.batch) ||
          !word("m") || !number(m.m) || !word("n") || !number(m.n) ||
          !word("k") || !number(m.k) || !word("a") || !view(m.a) ||
          !word("b") || !view(m.b) || !word("result") || !view(m.result))
        return false;
      if (word("c")) {
        m.hasC = true;
        if (!view(m.c))
          return false;
      }
      bool good = word("alpha") && number32(m.alpha) && word("beta") &&
                  number32(m.beta);
      if (word("relu"))
        call.activation = Activation::Relu;
      return good;
    }
    ConvCall &c = call.conv;
    call.kind = LibraryCall::Kind::Conv;
    int64_t bias = 0;
    bool good =
        word("conv") && elementType(c.type) && word("batch") &&
        number(c.batch) && word("channels") && number(c.inputChannels) &&
        word("to") && number(c.outputChannels) && word("group") &&
        number(c.group) && word("input") && numbers(c.inputSpatial) &&
        word("kernel") && numbers(c.kernel) && word("output") &&
        numbers(c.outputSpatial) && word("strides") && numbers(c.strides) &&
        word("dilations") && numbers(c.dilations) && word("begin") &&
        numbers(c.padsBegin) && word("end") && numbers(c.padsEnd) &&
        word("bias") && number(bias);
    c.hasBias = bias;
    if (word("relu"))
      call.activation = Activation::Relu;
    return good;
  }

  bool view(StridedView &view) {
    return number(view.offset) && word(";") && numbers(view.strides);
  }

  bool numbers(std::vector<int64_t> &values) {
    int64_t value;
    while (number(value)) {
      values.push_back(value);
      if (!word(","))
        break;
    }
    return true;
  }

  OriginId origin(const std::string &node) {
    for (OriginId i = 0; i < graph.origins.size(); ++i)
      if (graph.origins[i].node == node)
        return i;
    graph.origins.push_back({node, "", false, Origin::Fate::Primitive});
    return static_cast<OriginId>(graph.origins.size() - 1);
  }

  // Words of a line.
  bool next() {
    while (lineNumber < lines.size()) {
      line = lines[lineNumber++];
      at = 0;
      skip();
      if (at < line.size() && line.substr(at, 2) != "//")
        return true;
    }
    line = {};
    at = 0;
    return false;
  }
  void skip() {
    while (at < line.size() &&
           (line[at] == ' ' || line[at] == '\t' || line[at] == '\r'))
      ++at;
  }
  bool atEnd() {
    skip();
    return at >= line.size();
  }
  bool peek(char c) {
    skip();
    return at < line.size() && line[at] == c;
  }
  bool word(std::string_view text) {
    skip();
    if (line.substr(at, text.size()) != text)
      return false;
    bool isWord = std::isalnum(static_cast<unsigned char>(text.back()));
    if (isWord && at + text.size() < line.size() &&
        (std::isalnum(static_cast<unsigned char>(line[at + text.size()])) ||
         line[at + text.size()] == '_'))
      return false;
    at += text.size();
    return true;
  }
  std::string token() {
    skip();
    size_t begin = at;
    while (at < line.size() && !std::strchr(" ,(){}\t", line[at]))
      ++at;
    return std::string(line.substr(begin, at - begin));
  }
  bool number(int64_t &value) {
    skip();
    size_t begin = at;
    char *end;
    std::string rest(line.substr(at, 24));
    value = std::strtoll(rest.c_str(), &end, 10);
    at += end - rest.c_str();
    return at != begin;
  }
  bool reference(int64_t &value) {
    return word("%") && number(value) && value >= 0;
  }
  bool quoted(std::string &text) {
    if (!peek('"'))
      return false;
    ++at;
    while (at < line.size() && line[at] != '"') {
      if (line[at] == '\\' && at + 1 < line.size()) {
        ++at;
        text += line[at] == 'n' ? '\n' : line[at];
      } else {
        text += line[at];
      }
      ++at;
    }
    if (at >= line.size())
      return false;
    ++at; // the closing quote
    return true;
  }
  bool shape(Shape &shape) {
    if (word("scalar"))
      return true;
    for (;;) {
      int64_t value;
      if (!number(value) || value < 0)
        return false;
      shape.push_back(value);
      if (at >= line.size() || line[at] != 'x')
        return true;
      ++at;
    }
  }
  bool elementType(ElementType &type) {
    std::string text = token();
    auto parsed = parseElementType(text);
    if (parsed)
      type = *parsed;
    return parsed.has_value();
  }
  bool tensorType(TensorType &type) {
    skip();
    size_t open = line.find('[', at);
    if (open == std::string_view::npos)
      return false;
    auto parsed = parseElementType(line.substr(at, open - at));
    if (!parsed)
      return false;
    type.element = *parsed;
    at = open + 1;
    if (word("]"))
      return true;
    return shape(type.shape) && word("]");
  }
  bool scalarConstant(ElementType type, ScalarConstant &constant) {
    std::string text = token();
    if (text.empty())
      return false;
    if (isFloat(type))
      constant.real = std::strtod(text.c_str(), nullptr);
    else
      constant.integer = std::strtoll(text.c_str(), nullptr, 10);
    return true;
  }
  bool fail(const std::string &message) {
    error = "line " + std::to_string(lineNumber) + ": " + message;
    return false;
  }

  PrimitiveGraph &graph;
  std::string &error;
  std::vector<std::string_view> lines;
  size_t lineNumber = 0;
  std::string_view line;
  size_t at = 0;
};

} // namespace

bool parsePrimitiveGraph(std::string_view text, PrimitiveGraph &graph,
                         std::string &error) {
  graph = {};
  return Parser(text, graph, error).run();
}

} // namespace lockstitch
