// Values that come from the model itself.
#include "frontends/onnx/node_context.h"
#include "frontends/onnx/rules.h"

#include <cmath>
#include <cstring>

namespace lockstitch::onnx {
namespace {

ValueId tensorConstant(NodeContext &c, const Tensor &tensor) {
  if (!tensor.problem.empty())
    c.refuse("its value cannot be used: " + tensor.problem);
  std::optional<ElementType> element = elementType(tensor.dataType);
  if (!element)
    c.refuse("its element type " + dataTypeName(tensor.dataType) +
             " is not supported");
  return c.graph.graph.addConstant({}, {*element, toShape(tensor.dims)},
                                   ConstantData(tensor.data));
}

template <typename T>
ValueId listConstant(NodeContext &c, ElementType type, const T *data,
                     size_t count, bool isScalar) {
  auto *begin = reinterpret_cast<const std::byte *>(data);
  Extents extents = isScalar ? Extents{} : Extents{static_cast<int64_t>(count)};
  return c.graph.constant({type, toShape(extents)},
                          {begin, begin + count * sizeof(T)});
}

void constant(NodeContext &c) {
  for (const Attribute &a : c.node.attributes) {
    if (a.name == "value" && a.tensor)
      return c.setOutput(0, tensorConstant(c, *a.tensor));
    if (a.name == "value_int")
      return c.setOutput(0, listConstant(c, ElementType::I64, &a.i, 1, true));
    if (a.name == "value_ints")
      return c.setOutput(0, listConstant(c, ElementType::I64, a.ints.data(),
                                         a.ints.size(), false));
    if (a.name == "value_float")
      return c.setOutput(0, listConstant(c, ElementType::F32, &a.f, 1, true));
    if (a.name == "value_floats")
      return c.setOutput(0, listConstant(c, ElementType::F32, a.floats.data(),
                                         a.floats.size(), false));
    if (a.name.starts_with("value_string"))
      c.refuse("strings are not supported");
    if (a.name == "sparse_value")
      c.refuse("sparse constants are not supported",
               "store it as a dense tensor");
  }
  c.refuse("it has no value");
}

void constantOfShape(NodeContext &c) {
  Extents extents = c.constantInts(0, "shape");
  for (int64_t extent : extents)
    if (extent < 0)
      c.refuse("the shape " + toString(extents) + " is not possible");
  BodyBuilder body(c.graph, toShape(extents));
  const Attribute *value = c.attribute("value", Attribute::Kind::Tensor);
  if (!value)
    return c.setOutput(
        0, body.pull(body.b.constant(ElementType::F32, 0), ElementType::F32));
  ValueId element = tensorConstant(c, *value->tensor);
  if (c.graph.type(element).elements() != 1)
    c.refuse("its value should have one element");
  ValueId scalar = reshape(c.graph, element, {});
  c.setOutput(0, body.pull(body.read(scalar, {}), c.graph.element(scalar)));
}

/// start + i * delta; how many there are must be known, the values need not be
/// stored.
void range(NodeContext &c) {
  c.requireSameType(0, 3);
  ElementType type = c.element(0);
  int64_t count;
  if (isFloat(type)) {
    double bounds[3];
    for (size_t i = 0; i < 3; ++i) {
      auto value = c.graph.constantReals(c.input(i));
      if (!value || value->size() != 1)
        c.refuse("its bounds are computed from the model's inputs; they steer "
                 "a shape, so they must be known while compiling");
      bounds[i] = (*value)[0];
    }
    double steps = std::ceil((bounds[1] - bounds[0]) / bounds[2]);
    if (!(steps < 1e15))
      c.refuse("its bounds give no finite number of steps");
    count = steps > 0 ? static_cast<int64_t>(steps) : 0;
  } else {
    int64_t bounds[3];
    for (size_t i = 0; i < 3; ++i) {
      std::vector<int64_t> value = c.constantInts(i, i == 0   ? "start"
                                                     : i == 1 ? "limit"
                                                              : "delta");
      if (value.size() != 1)
        c.refuse("its bounds should be scalars");
      bounds[i] = value[0];
    }
    if (bounds[2] == 0)
      c.refuse("its delta is 0");
    __int128 distance = static_cast<__int128>(bounds[1]) - bounds[0],
             delta = bounds[2];
    __int128 steps = (distance + delta + (delta > 0 ? -1 : 1)) / delta;
    if (steps > INT64_MAX)
      c.refuse("its bounds give too many steps");
    count = (delta > 0 ? distance > 0 : distance < 0)
                ? static_cast<int64_t>(steps)
                : 0;
  }
  BodyBuilder body(c.graph, {Dim(count)});
  auto scalar = [&](size_t i) {
    return body.readWide(reshape(c.graph, c.input(i), {}), {});
  };
  ScalarId start = scalar(0), delta = scalar(2),
           step =
               body.b.cast(body.b.index(IndexExpr::dim(0)), body.b.type(start));
  ScalarId value = body.b.op(
      ScalarOpcode::Add, {start, body.b.op(ScalarOpcode::Mul, {step, delta})});
  c.setOutput(0, body.pull(value, type));
}

void eyeLike(NodeContext &c) {
  if (c.rank(0) != 2)
    c.refuse("its input should have rank 2");
  int32_t wanted =
      static_cast<int32_t>(c.attrInt("dtype", dataType(c.element(0))));
  std::optional<ElementType> type = elementType(wanted);
  if (!type)
    c.refuse("the element type " + dataTypeName(wanted) + " is not supported");
  BodyBuilder body(c.graph, c.shape(0));
  ScalarId isOne = body.b.inRange(IndexExpr::dim(1) - IndexExpr::dim(0) -
                                      IndexExpr::constant(c.attrInt("k", 0)),
                                  0, 0);
  c.setOutput(0, body.pull(body.b.cast(isOne, computeType(*type)), *type));
}

constexpr Rule kRules[] = {
    {"Constant", 1, kNewest, constant},
    {"ConstantOfShape", 9, kNewest, constantOfShape},
    {"EyeLike", 9, kNewest, eyeLike},
    {"Range", 11, kNewest, range},
};

} // namespace

std::span<const Rule> constantRules() { return kRules; }

} // namespace lockstitch::onnx
