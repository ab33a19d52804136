// Prints the text form of a primitive graph; primitive_graph_parse.cpp reads it.
// Planner tests are text, and `--emit primitives` prints it.
//   graph "bert"
//   %0 = input "x" f32[2x3]
//   %1 = constant "w" f32[3] {1, 2, 3}              values in braces only for small constants
//   %2 = pull "Add#0/0" f32[2x3] (%0, %1) over 2x3 from "Add#0"
//     %0 = read f32 #0 at (d0, d1) -> (d0, d1)
//     ...
//     yield %2
//   %3 = reduce "Sum/0" f32[2] (%2) over 2x3 folding 1 from "Sum"
//     ...body...
//   init f32 0
//   update / combine / finish
//     ...
//   %5 = scan "CumSum/0" f32[2x3] (%2) over 2x3 along 1 from "CumSum"                 body and reducer as for a reduce
//   %6 = push "Scatter/0" f32[9] (%0, %1) over 4 to (d0)[s0] -> (s0) from "Scatter"    body and reducer as for a reduce
//   %7 = sort "TopK/0" i64[2x2] (%2) over 2x3 along 1 descending from "TopK"          body
//   %4 = library "MatMul#0/0" f32[2x4] (%0, %3) from "MatMul#0" : matmul f32 batch() m 2 n 4 k 3 a(0; 3,1) b(..) result(..)
//   %5 = loop "Loop#0/0" bool[0] (%0, %4, %1) trips 3 carried 1 slices + collected - from "Loop#0"
//     graph "body"                                a slice from the first (+) or the last (-) on
//     ...
//     end
//   %6 = project "Loop#0/1" f32[3x4] (%5) result 1 from "Loop#0"
//   output "y" %3
#include "compiler/graph/primitive_graph.h"

#include "compiler/graph/loop.h"
#include "runtime/program/float16.h"

#include <cstdlib>
#include <cstring>
#include <sstream>

namespace lockstitch {
namespace {

constexpr int64_t kSmallConstant = 8;

std::string quote(const std::string &text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      quoted += '\\';
    if (c == '\n') {
      quoted += "\\n";
      continue;
    }
    quoted += c;
  }
  return quoted + "\"";
}

template <typename T> T load(const std::byte *at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

std::string elementText(ElementType type, const std::byte *at) {
  char buffer[40];
  auto real = [&](double value, const char *format) {
    std::snprintf(buffer, sizeof buffer, format, value);
    return std::string(buffer);
  };
  switch (type) {
  case ElementType::Bool:
  case ElementType::U8:
    return std::to_string(load<uint8_t>(at));
  case ElementType::I8:
    return std::to_string(load<int8_t>(at));
  case ElementType::I16:
    return std::to_string(load<int16_t>(at));
  case ElementType::U16:
    return std::to_string(load<uint16_t>(at));
  case ElementType::I32:
    return std::to_string(load<int32_t>(at));
  case ElementType::U32:
    return std::to_string(load<uint32_t>(at));
  case ElementType::I64:
    return std::to_string(load<int64_t>(at));
  case ElementType::U64:
    return std::to_string(load<uint64_t>(at));
  case ElementType::F16:
    return real(halfToFloat(load<uint16_t>(at)), "%.9g");
  case ElementType::BF16:
    return real(bfloat16ToFloat(load<uint16_t>(at)), "%.9g");
  case ElementType::F32:
    return real(load<float>(at), "%.9g");
  case ElementType::F64:
    return real(load<double>(at), "%.17g");
  }
  return "";
}

std::string list(const std::vector<int64_t> &values) {
  std::string text;
  for (size_t i = 0; i < values.size(); ++i)
    text += (i ? "," : "") + std::to_string(values[i]);
  return text;
}

std::string viewText(const StridedView &view) {
  return std::to_string(view.offset) + ";" + list(view.strides);
}

std::string callText(const LibraryCall &call) {
  std::ostringstream out;
  const char *activation = call.activation == Activation::Relu ? " relu" : "";
  if (call.kind == LibraryCall::Kind::MatMul) {
    const MatMulCall &m = call.matmul;
    out << "matmul " << name(m.type) << " batch " << list(m.batch) << " m "
        << m.m << " n " << m.n << " k " << m.k << " a " << viewText(m.a)
        << " b " << viewText(m.b) << " result " << viewText(m.result);
    if (m.hasC)
      out << " c " << viewText(m.c);
    out << " alpha " << m.alpha << " beta " << m.beta << activation;
    return out.str();
  }
  const ConvCall &c = call.conv;
  out << "conv " << name(c.type) << " batch " << c.batch << " channels "
      << c.inputChannels << " to " << c.outputChannels << " group " << c.group
      << " input " << list(c.inputSpatial) << " kernel " << list(c.kernel)
      << " output " << list(c.outputSpatial) << " strides " << list(c.strides)
      << " dilations " << list(c.dilations) << " begin " << list(c.padsBegin)
      << " end " << list(c.padsEnd) << " bias " << c.hasBias << activation;
  return out.str();
}

std::string constantText(ElementType type, const ScalarConstant &constant) {
  if (!isFloat(type))
    return std::to_string(constant.integer);
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%.17g", constant.real);
  return buffer;
}

std::string signs(const std::vector<bool> &reversed) {
  std::string text;
  for (bool isReversed : reversed)
    text += isReversed ? '-' : '+';
  return text;
}

} // namespace

std::string_view toString(Primitive::Kind kind) {
  switch (kind) {
  case Primitive::Kind::Pull:
    return "pull";
  case Primitive::Kind::Reduce:
    return "reduce";
  case Primitive::Kind::Library:
    return "library";
  case Primitive::Kind::Scan:
    return "scan";
  case Primitive::Kind::Push:
    return "push";
  case Primitive::Kind::Sort:
    return "sort";
  case Primitive::Kind::Loop:
    return "loop";
  case Primitive::Kind::Project:
    return "project";
  }
  return "";
}

namespace {

void print(std::ostringstream &out, const PrimitiveGraph &graph,
           const std::string &indent) {
  out << indent << "graph " << quote(graph.name) << "\n";
  for (ValueId id = 0; id < graph.values.size(); ++id) {
    const Value &value = graph.values[id];
    if (value.kind == Value::Kind::Input) {
      out << indent << "%" << id << " = input " << quote(value.name) << " "
          << toString(value.type) << "\n";
      continue;
    }
    if (value.kind == Value::Kind::Constant) {
      out << indent << "%" << id << " = constant " << quote(value.name) << " "
          << toString(value.type);
      int64_t count = value.type.elements();
      if (count <= kSmallConstant &&
          value.constant.bytes == static_cast<size_t>(value.type.bytes())) {
        out << " {";
        for (int64_t i = 0; i < count; ++i)
          out << (i ? ", " : "")
              << elementText(value.type.element,
                             value.constant.data +
                                 i * byteSize(value.type.element));
        out << "}";
      }
      out << "\n";
      continue;
    }
    const Primitive &primitive = graph.primitives[value.producer];
    out << indent << "%" << id << " = " << toString(primitive.kind) << " "
        << quote(primitive.name) << " " << toString(value.type) << " (";
    for (size_t i = 0; i < primitive.operands.size(); ++i)
      out << (i ? ", %" : "%") << primitive.operands[i];
    out << ")";
    bool hasBody = primitive.kind != Primitive::Kind::Library &&
                   primitive.kind != Primitive::Kind::Loop &&
                   primitive.kind != Primitive::Kind::Project;
    if (primitive.kind == Primitive::Kind::Loop) {
      const Loop &loop = *primitive.loop;
      out << " trips " << loop.trips.value() << " carried " << loop.carried;
      if (!loop.slices.empty())
        out << " slices " << signs(loop.slices);
      if (!loop.collected.empty())
        out << " collected " << signs(loop.collected);
    }
    if (primitive.kind == Primitive::Kind::Project)
      out << " result " << primitive.projection;
    if (hasBody) {
      out << " over " << toString(primitive.domain);
      if (primitive.kind == Primitive::Kind::Reduce)
        out << " folding " << primitive.reducedDims;
      if (primitive.kind == Primitive::Kind::Scan ||
          primitive.kind == Primitive::Kind::Sort)
        out << " along " << primitive.along
            << (primitive.descending ? " descending" : "");
      if (primitive.kind == Primitive::Kind::Push)
        out << " to " << toString(primitive.target);
    }
    if (!primitive.origins.empty())
      out << " from";
    for (OriginId origin : primitive.origins)
      out << " " << quote(graph.origins[origin].node);
    if (primitive.kind == Primitive::Kind::Library) {
      out << " : " << callText(primitive.call) << "\n";
      continue;
    }
    if (!hasBody) {
      out << "\n";
      if (primitive.kind == Primitive::Kind::Loop) {
        print(out, primitive.loop->body, indent + "  ");
        out << indent << "  end\n";
      }
      continue;
    }
    out << "\n" << toString(primitive.body, indent + "  ");
    if (!primitive.reducer.types.empty()) {
      out << indent << "  init";
      for (size_t i = 0; i < primitive.reducer.types.size(); ++i)
        out << " " << name(primitive.reducer.types[i]) << " "
            << constantText(primitive.reducer.types[i],
                            primitive.reducer.init[i]);
      std::string inner = indent + "    ";
      out << "\n"
          << indent << "  update\n"
          << toString(primitive.reducer.update, inner);
      out << indent << "  combine\n"
          << toString(primitive.reducer.combine, inner);
      out << indent << "  finish\n"
          << toString(primitive.reducer.finish, inner);
    }
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i)
    out << indent << "output "
        << quote(i < graph.outputNames.size() ? graph.outputNames[i] : "")
        << " %" << graph.outputs[i] << "\n";
}

} // namespace

std::string toString(const PrimitiveGraph &graph) {
  std::ostringstream out;
  print(out, graph, "");
  return out.str();
}

} // namespace lockstitch
