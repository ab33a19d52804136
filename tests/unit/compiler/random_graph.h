// Random primitive graphs: elementwise operations with broadcasts, reductions over any axes, views, concatenations and
// products, scans, scatters and sorts, a few of their values as outputs.
#ifndef LOCKSTITCH_TESTS_UNIT_COMPILER_RANDOM_GRAPH_H
#define LOCKSTITCH_TESTS_UNIT_COMPILER_RANDOM_GRAPH_H

#include "tests/unit/compiler/graph_maker.h"

#include <random>

namespace lockstitch::testing {

inline PrimitiveGraph randomGraph(uint32_t seed, int operations,
                                  bool products = true) {
  std::mt19937 random(seed);
  auto pick = [&](auto bound) {
    return static_cast<unsigned>(random() % bound);
  };
  GraphMaker maker;
  const int64_t extents[] = {1, 2, 3, 4, 7, 8, 16, 31, 33};
  Shape base = {extents[pick(5u)], extents[2 + pick(5u)],
                extents[3 + pick(6u)]};
  std::vector<ValueId> values;
  for (int i = 0; i < 3; ++i) {
    Shape shape = base;
    for (Dim &dim : shape)
      if (pick(4u) == 0 && i > 0)
        dim = 1;
    values.push_back(maker.input(shape));
  }
  auto recent = [&] {
    return values[values.size() - 1 - pick(std::min<size_t>(values.size(), 6))];
  };
  auto compatible = [&](ValueId a, ValueId b) {
    const Shape &left = maker.graph.type(a).shape,
                &right = maker.graph.type(b).shape;
    for (size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
      int64_t x = left[left.size() - 1 - i].value(),
              y = right[right.size() - 1 - i].value();
      if (x != y && x != 1 && y != 1)
        return false;
    }
    return true;
  };
  while (operations-- > 0) {
    ValueId a = recent();
    const Shape shape = maker.graph.type(a).shape;
    switch (pick(15u)) {
    case 0:
    case 1:
    case 2:
    case 3: {
      ValueId b = recent();
      const ScalarOpcode opcodes[] = {ScalarOpcode::Add, ScalarOpcode::Sub,
                                      ScalarOpcode::Mul, ScalarOpcode::Max};
      if (compatible(a, b))
        values.push_back(maker.map(opcodes[pick(4u)], {a, b}));
      break;
    }
    case 4:
      values.push_back(maker.map(ScalarOpcode::Tanh, {a}));
      break;
    case 5:
      values.push_back(maker.map(ScalarOpcode::Neg, {a}));
      break;
    case 6:
    case 7: {
      std::vector<unsigned> axes;
      if (pick(2u))
        axes = {static_cast<unsigned>(shape.size() - 1)};
      else
        for (unsigned i = 0; i < shape.size(); ++i)
          if (pick(2u))
            axes.push_back(i);
      if (!axes.empty())
        values.push_back(maker.reduce(
            pick(2u) ? ScalarOpcode::Max : ScalarOpcode::Add, a, axes));
      break;
    }
    case 8: {
      std::vector<unsigned> order;
      for (unsigned i = 0; i < shape.size(); ++i)
        order.insert(order.begin() + pick(order.size() + 1), i);
      values.push_back(maker.transpose(a, order));
      break;
    }
    case 9: {
      int64_t count = numElements(shape);
      int64_t last = shape.back().value();
      values.push_back(pick(2u) ? maker.reshape(a, {count})
                                : maker.reshape(a, {count / last, last}));
      break;
    }
    case 10: {
      unsigned axis = pick(shape.size());
      int64_t extent = shape[axis].value();
      if (pick(2u) && extent > 2)
        values.push_back(maker.slice(a, axis, pick(2u), (extent - 1) / 2, 2));
      else if (numElements(shape) < 4000)
        values.push_back(maker.concat(a, a, axis));
      break;
    }
    case 11: {
      unsigned along = pick(shape.size());
      values.push_back(maker.scan(
          pick(2u) ? ScalarOpcode::Max : ScalarOpcode::Add, a, along));
      if (pick(2u)) // a consumer at the same places
        values.push_back(maker.map(ScalarOpcode::Neg, {values.back()}));
      break;
    }
    case 12: {
      ValueId updates = recent();
      const Shape other = maker.graph.type(updates).shape;
      unsigned axis = pick(shape.size());
      bool fits = other.size() == shape.size() && numElements(other) < 3000 &&
                  numElements(shape) < 3000;
      for (size_t i = 0; i < shape.size() && fits; ++i)
        fits = i == axis || other[i].value() <= shape[i].value();
      if (!fits)
        break;
      // Where an update lands must not depend on the last bits of a sum: its index is an input.
      ValueId index = maker.input(other);
      values.push_back(
          pick(2u) ? maker.scatter(a, index, updates, axis)
                   : maker.scatter(a, index, updates, axis,
                                   Reducer::simple(pick(2u) ? ScalarOpcode::Max
                                                            : ScalarOpcode::Add,
                                                   ElementType::F32,
                                                   ElementType::F32)));
      break;
    }
    case 13: {
      unsigned along = pick(shape.size());
      int64_t extent = shape[along].value();
      if (numElements(shape) >= 2000)
        break;
      // As above: keys are an input. Positions are small numbers, exact in f32.
      values.push_back(maker.cast(
          maker.sort(maker.input(shape), along, pick(2u), 1 + pick(extent)),
          ElementType::F32));
      break;
    }
    default:
      if (products && shape.size() >= 2)
        values.push_back(maker.matmul(
            a, maker.input({shape.back(), extents[2 + pick(5u)]})));
      break;
    }
  }
  unsigned outputs = 1 + pick(3u);
  for (unsigned i = 0; i < outputs; ++i)
    maker.output(
        values[values.size() - 1 - std::min<size_t>(i * 3, values.size() - 1)]);
  maker.graph.name = "random" + std::to_string(seed);
  return std::move(maker.graph);
}

} // namespace lockstitch::testing

#endif // LOCKSTITCH_TESTS_UNIT_COMPILER_RANDOM_GRAPH_H
