// GraphMaker: small primitive graphs for tests, one call per tensor operation.
#ifndef LOCKSTITCH_TESTS_UNIT_COMPILER_GRAPH_MAKER_H
#define LOCKSTITCH_TESTS_UNIT_COMPILER_GRAPH_MAKER_H

#include "compiler/graph/primitive_graph.h"

namespace lockstitch::testing {

class GraphMaker {
public:
  PrimitiveGraph graph;

  ValueId input(Shape shape, ElementType type = ElementType::F32) {
    return graph.addInput("in" + std::to_string(graph.inputs.size()),
                          {type, std::move(shape)});
  }
  /// Elementwise on operands of equal or broadcastable shapes (aligned at the right, extents equal or 1).
  ValueId map(ScalarOpcode opcode, std::vector<ValueId> operands) {
    Shape shape;
    for (ValueId operand : operands) {
      const Shape &other = graph.type(operand).shape;
      if (other.size() > shape.size())
        shape.insert(shape.begin(), other.size() - shape.size(), Dim(1));
      for (size_t i = 0; i < other.size(); ++i)
        if (other[i].value() != 1)
          shape[shape.size() - other.size() + i] = other[i];
    }
    Primitive primitive = start(Primitive::Kind::Pull, operands, shape);
    ScalarBuilder builder(primitive.body);
    std::vector<ScalarId> args;
    for (uint32_t i = 0; i < operands.size(); ++i) {
      const TensorType &type = graph.type(operands[i]);
      IndexMap map;
      map.numDims = shape.size();
      for (size_t d = 0; d < type.shape.size(); ++d)
        map.results.push_back(
            type.shape[d].value() == 1
                ? IndexExpr::constant(0)
                : IndexExpr::dim(shape.size() - type.shape.size() + d));
      args.push_back(builder.read(i, type.element, std::move(map)));
    }
    primitive.body.results = {builder.op(opcode, args)};
    ElementType type = builder.type(primitive.body.results[0]);
    return add(std::move(primitive), {type, shape});
  }
  ValueId cast(ValueId operand, ElementType type) {
    const Shape shape = graph.type(operand).shape;
    Primitive primitive = start(Primitive::Kind::Pull, {operand}, shape);
    ScalarBuilder builder(primitive.body);
    primitive.body.results = {
        builder.cast(builder.read(0, graph.type(operand).element,
                                  IndexMap::identity(shape.size())),
                     type)};
    return add(std::move(primitive), {type, shape});
  }
  /// Folds the dimensions `axes`, which stay with extent 1.
  ValueId reduce(ScalarOpcode opcode, ValueId operand,
                 std::vector<unsigned> axes) {
    const TensorType type = graph.type(operand);
    Shape result = type.shape, domain;
    for (unsigned axis : axes)
      result[axis] = 1;
    domain = result;
    IndexMap map;
    for (unsigned i = 0; i < type.shape.size(); ++i)
      map.results.push_back(IndexExpr::dim(i));
    for (unsigned axis : axes) {
      map.results[axis] = IndexExpr::dim(domain.size());
      domain.push_back(type.shape[axis]);
    }
    map.numDims = domain.size();
    Primitive primitive = start(Primitive::Kind::Reduce, {operand}, domain);
    primitive.reducedDims = axes.size();
    ScalarBuilder builder(primitive.body);
    primitive.body.results = {builder.read(0, type.element, std::move(map))};
    primitive.reducer = Reducer::simple(opcode, type.element, type.element);
    return add(std::move(primitive), {type.element, result});
  }
  /// Every element is what was folded up to and with it along `along`.
  ValueId scan(ScalarOpcode opcode, ValueId operand, unsigned along) {
    const TensorType type = graph.type(operand);
    Primitive primitive = start(Primitive::Kind::Scan, {operand}, type.shape);
    primitive.along = along;
    ScalarBuilder builder(primitive.body);
    primitive.body.results = {builder.cast(
        builder.read(0, type.element, IndexMap::identity(type.shape.size())),
        computeType(type.element))};
    primitive.reducer = Reducer::simple(opcode, type.element, type.element);
    return add(std::move(primitive), type);
  }
  /// Scatters `updates` along dimension `axis` of `base` to the positions floor(|index| * extent); the last wins.
  ValueId scatter(ValueId base, ValueId index, ValueId updates, unsigned axis) {
    const TensorType type = graph.type(base);
    Reducer assign;
    assign.types = {type.element};
    assign.init = {{}};
    for (ScalarProgram *program : {&assign.update, &assign.combine}) {
      ScalarBuilder builder(*program);
      builder.argument(0, type.element);
      program->results = {builder.argument(1, type.element)};
    }
    ScalarBuilder finish(assign.finish);
    assign.finish.results = {finish.argument(0, type.element)};
    return scatter(base, index, updates, axis, assign);
  }
  /// The same; all updates of an element are combined.
  ValueId scatter(ValueId base, ValueId index, ValueId updates, unsigned axis,
                  Reducer reducer) {
    const TensorType type = graph.type(base);
    unsigned rank = type.shape.size();
    Primitive primitive = start(Primitive::Kind::Push, {base, index, updates},
                                graph.type(updates).shape);
    ScalarBuilder builder(primitive.body);
    IndexMap own = IndexMap::identity(rank);
    ScalarId scaled = builder.op(
        ScalarOpcode::Mul,
        {builder.op(ScalarOpcode::Abs,
                    {builder.read(1, graph.type(index).element, own)}),
         builder.constant(graph.type(index).element,
                          static_cast<double>(type.shape[axis].value()))});
    primitive.body.results = {
        builder.cast(builder.read(2, type.element, own), reducer.types[0]),
        builder.cast(scaled, ElementType::I64)};
    primitive.target = own;
    primitive.target.results[axis] = IndexExpr::runtime(0);
    primitive.reducer = std::move(reducer);
    return add(std::move(primitive), type);
  }
  /// Positions of the `count` first keys along `along`.
  ValueId sort(ValueId operand, unsigned along, bool descending,
               int64_t count) {
    TensorType type = graph.type(operand);
    Primitive primitive = start(Primitive::Kind::Sort, {operand}, type.shape);
    primitive.along = along;
    primitive.descending = descending;
    ScalarBuilder builder(primitive.body);
    primitive.body.results = {
        builder.read(0, type.element, IndexMap::identity(type.shape.size()))};
    type.shape[along] = count;
    return add(std::move(primitive), {ElementType::I64, type.shape});
  }
  ValueId softmax(ValueId x, unsigned axis) {
    ValueId exp = map(
        ScalarOpcode::Exp,
        {map(ScalarOpcode::Sub, {x, reduce(ScalarOpcode::Max, x, {axis})})});
    return map(ScalarOpcode::Div,
               {exp, reduce(ScalarOpcode::Add, exp, {axis})});
  }
  ValueId transpose(ValueId operand, std::vector<unsigned> order) {
    const TensorType type = graph.type(operand);
    Shape shape;
    IndexMap map;
    map.numDims = order.size();
    map.results.resize(order.size());
    for (unsigned i = 0; i < order.size(); ++i) {
      shape.push_back(type.shape[order[i]]);
      map.results[order[i]] = IndexExpr::dim(i);
    }
    return view(operand, shape, std::move(map));
  }
  ValueId reshape(ValueId operand, Shape shape) {
    IndexMap map = reshapeMap(graph.type(operand).shape, shape);
    return view(operand, std::move(shape), std::move(map));
  }
  /// Elements `first`, first + step, ... of dimension `axis`.
  ValueId slice(ValueId operand, unsigned axis, int64_t first, int64_t count,
                int64_t step = 1) {
    Shape shape = graph.type(operand).shape;
    shape[axis] = count;
    IndexMap map = IndexMap::identity(shape.size());
    map.results[axis] = IndexExpr::dim(axis) * IndexExpr::constant(step) +
                        IndexExpr::constant(first);
    return view(operand, shape, std::move(map));
  }
  ValueId concat(ValueId a, ValueId b, unsigned axis) {
    Shape shape = graph.type(a).shape;
    int64_t first = shape[axis].value(),
            second = graph.type(b).shape[axis].value();
    shape[axis] = first + second;
    Primitive primitive = start(Primitive::Kind::Pull, {a, b}, shape);
    ScalarBuilder builder(primitive.body);
    IndexMap left = IndexMap::identity(shape.size()), right = left;
    left.constraints.push_back({left.results[axis], 0, first - 1});
    right.results[axis] = IndexExpr::dim(axis) - IndexExpr::constant(first);
    right.constraints.push_back({right.results[axis], 0, second - 1});
    ElementType type = graph.type(a).element;
    ScalarId inLeft = builder.inRange(IndexExpr::dim(axis), 0, first - 1);
    ScalarId leftValue = builder.read(0, type, left),
             rightValue = builder.read(1, type, right);
    primitive.body.results = {builder.select(inLeft, leftValue, rightValue)};
    return add(std::move(primitive), {type, shape});
  }
  /// [.., m, k] x [k, n] as a library call.
  ValueId matmul(ValueId a, ValueId b) {
    Shape shape = graph.type(a).shape;
    int64_t k = shape.back().value(), n = graph.type(b).shape.back().value(),
            m = numElements(shape) / k;
    shape.back() = n;
    Primitive primitive = start(Primitive::Kind::Library, {a, b}, shape);
    primitive.domain.clear();
    MatMulCall &call = primitive.call.matmul;
    call.m = m;
    call.n = n;
    call.k = k;
    call.a = {0, {k, 1}};
    call.b = {0, {n, 1}};
    call.result = {0, {n, 1}};
    return add(std::move(primitive), {ElementType::F32, shape});
  }
  void output(ValueId value) {
    graph.outputs.push_back(value);
    graph.outputNames.push_back("out" +
                                std::to_string(graph.outputNames.size()));
  }

private:
  Primitive start(Primitive::Kind kind, std::vector<ValueId> operands,
                  Shape domain) {
    Primitive primitive;
    primitive.kind = kind;
    primitive.name = "p" + std::to_string(graph.primitives.size());
    primitive.origins = {static_cast<OriginId>(graph.origins.size())};
    graph.origins.push_back(
        {primitive.name, "", false, Origin::Fate::Primitive});
    primitive.operands = std::move(operands);
    primitive.domain = std::move(domain);
    return primitive;
  }
  ValueId view(ValueId operand, Shape shape, IndexMap map) {
    ElementType type = graph.type(operand).element;
    Primitive primitive = start(Primitive::Kind::Pull, {operand}, shape);
    ScalarBuilder builder(primitive.body);
    primitive.body.results = {builder.read(0, type, std::move(map))};
    return add(std::move(primitive), {type, std::move(shape)});
  }
  ValueId add(Primitive primitive, TensorType type) {
    return graph.add(std::move(primitive), std::move(type));
  }
};

} // namespace lockstitch::testing

#endif // LOCKSTITCH_TESTS_UNIT_COMPILER_GRAPH_MAKER_H
