#include "sample_kernels.h"

#include <cmath>

namespace lockstitch::testing {
namespace {

constexpr ElementType F32 = ElementType::F32, I64 = ElementType::I64,
                      Bool = ElementType::Bool;
using enum ScalarOpcode;

/// Symbols must be distinct within a module.
std::string named(const std::string &base, int64_t rows, int64_t columns,
                  ElementType type = F32) {
  return base + "_" + std::string(name(type)) + "_" + std::to_string(rows) +
         "x" + std::to_string(columns);
}

IndexExpr at(int64_t columns) { return row() * num(columns) + col(); }

} // namespace

StageProgram elementwise(int64_t rows, int64_t columns) {
  KernelBuilder k(named("elementwise", rows, columns), rows);
  uint32_t a = k.input(F32, rows * columns), b = k.input(F32, columns),
           s = k.input(F32, rows), out = k.output(F32, rows * columns);
  k.stage(columns);
  StageValueId y = k.op(Add, F32, {k.load(a, at(columns)), k.load(b, col())});
  StageValueId z = k.op(Mul, F32, {y, k.load(s, row())});
  k.store(out, at(columns), k.op(Sub, F32, {z, k.constant(F32, 1)}));
  return k.program;
}

StageProgram softmax(int64_t rows, int64_t columns, ElementType type) {
  KernelBuilder k(named("softmax", rows, columns, type), rows);
  uint32_t in = k.input(type, rows * columns),
           out = k.output(type, rows * columns), t = k.tile(F32, columns, 0);
  k.stage(columns);
  StageValueId x = k.cast(k.load(in, at(columns)), F32);
  k.tileStore(t, x);
  StageValueId max = k.reduce(Max, F32, x, -INFINITY);
  k.stage(columns);
  StageValueId e = k.op(Exp, F32, {k.op(Sub, F32, {k.tileLoad(t), max})});
  k.tileStore(t, e);
  StageValueId sum = k.reduce(Add, F32, e, 0);
  k.finish();
  StageValueId inverse = k.op(Div, F32, {k.constant(F32, 1), sum});
  k.stage(columns);
  k.store(out, at(columns),
          k.cast(k.op(Mul, F32, {k.tileLoad(t), inverse}), type));
  return k.program;
}

StageProgram layerNorm(int64_t rows, int64_t columns, ElementType type) {
  KernelBuilder k(named("layer_norm", rows, columns, type), rows);
  uint32_t in = k.input(type, rows * columns), scale = k.input(F32, columns),
           bias = k.input(F32, columns), out = k.output(type, rows * columns),
           means = k.output(F32, rows), t = k.tile(F32, columns, 0);
  k.stage(columns);
  StageValueId x = k.cast(k.load(in, at(columns)), F32);
  k.tileStore(t, x);
  StageValueId sum = k.reduce(Add, F32, x, 0);
  StageValueId squares = k.reduce(Add, F32, k.op(Mul, F32, {x, x}), 0);
  k.finish();
  StageValueId n = k.constant(F32, columns);
  StageValueId mean = k.op(Div, F32, {sum, n});
  StageValueId variance = k.op(
      Sub, F32, {k.op(Div, F32, {squares, n}), k.op(Mul, F32, {mean, mean})});
  StageValueId root =
      k.op(Sqrt, F32, {k.op(Add, F32, {variance, k.constant(F32, 1e-5f)})});
  k.store(means, row(), mean);
  k.stage(columns);
  StageValueId centred =
      k.op(Div, F32, {k.op(Sub, F32, {k.tileLoad(t), mean}), root});
  StageValueId y =
      k.op(Fma, F32, {centred, k.load(scale, col()), k.load(bias, col())});
  k.store(out, at(columns), k.cast(y, type));
  return k.program;
}

StageProgram argmax(int64_t rows, int64_t columns) {
  KernelBuilder k(named("argmax", rows, columns), rows);
  uint32_t in = k.input(F32, rows * columns), out = k.output(I64, rows);
  k.stage(columns);
  // Rounded, so that ties occur.
  StageValueId x = k.op(Round, F32, {k.load(in, at(columns))});
  StageReduction fold;
  fold.values = {x, k.index(col())};
  fold.types = {F32, I64};
  fold.init = {ScalarConstant::fromDouble(-INFINITY),
               ScalarConstant::fromInt(INT64_MAX)};
  for (ScalarProgram *code : {&fold.update, &fold.combine}) {
    ScalarBuilder b(*code);
    ScalarId value = b.argument(0, F32), place = b.argument(1, I64),
             other = b.argument(2, F32), where = b.argument(3, I64);
    ScalarId better = b.op(
        Or, {b.op(Gt, {other, value}),
             b.op(And, {b.op(Eq, {other, value}), b.op(Lt, {where, place})})});
    code->results = {b.select(better, other, value),
                     b.select(better, where, place)};
  }
  fold.results = {k.newValue(), k.newValue()};
  StageValueId place = fold.results[1];
  k.reduce(fold);
  k.finish();
  k.store(out, row(), place);
  return k.program;
}

StageProgram welford(int64_t rows, int64_t columns) {
  KernelBuilder k(named("welford", rows, columns), rows);
  uint32_t in = k.input(F32, rows * columns), mean = k.output(F32, rows),
           variance = k.output(F32, rows);
  k.stage(columns);
  StageReduction fold;
  fold.values = {k.load(in, at(columns))};
  fold.types = {F32, F32, F32}; // count, mean, sum of squared deviations
  fold.init = {{}, {}, {}};
  {
    ScalarBuilder b(fold.update);
    ScalarId n = b.argument(0, F32), m = b.argument(1, F32),
             s = b.argument(2, F32), x = b.argument(3, F32);
    ScalarId count = b.op(Add, {n, b.constant(F32, 1)}),
             delta = b.op(Sub, {x, m});
    ScalarId next = b.op(Add, {m, b.op(Div, {delta, count})});
    fold.update.results = {
        count, next, b.op(Add, {s, b.op(Mul, {delta, b.op(Sub, {x, next})})})};
  }
  {
    ScalarBuilder b(fold.combine);
    ScalarId n1 = b.argument(0, F32), m1 = b.argument(1, F32),
             s1 = b.argument(2, F32), n2 = b.argument(3, F32),
             m2 = b.argument(4, F32), s2 = b.argument(5, F32);
    ScalarId n = b.op(Add, {n1, n2}), delta = b.op(Sub, {m2, m1});
    ScalarId share = b.op(Div, {n2, b.op(Max, {n, b.constant(F32, 1)})});
    ScalarId m = b.op(Add, {m1, b.op(Mul, {delta, share})});
    ScalarId cross =
        b.op(Mul, {b.op(Mul, {delta, delta}), b.op(Mul, {n1, share})});
    fold.combine.results = {n, m, b.op(Add, {b.op(Add, {s1, s2}), cross})};
  }
  fold.results = {k.newValue(), k.newValue(), k.newValue()};
  std::vector<StageValueId> results = fold.results;
  k.reduce(fold);
  k.finish();
  k.store(mean, row(), results[1]);
  k.store(variance, row(), k.op(Div, F32, {results[2], results[0]}));
  return k.program;
}

StageProgram reduceRow(ScalarOpcode opcode, ElementType type, int64_t rows,
                       int64_t columns, double init) {
  KernelBuilder k(
      named("reduce_" + std::string(toString(opcode)), rows, columns, type),
      rows);
  uint32_t in = k.input(type, rows * columns), out = k.output(type, rows);
  k.stage(columns);
  StageValueId result = k.reduce(opcode, type, k.load(in, at(columns)), init);
  k.finish();
  k.store(out, row(), result);
  return k.program;
}

StageProgram reduceColumns(int64_t trips, int64_t columns) {
  KernelBuilder k(named("reduce_columns", trips, columns), 1);
  uint32_t in = k.input(F32, trips * columns), out = k.output(F32, columns);
  k.stage(columns);
  StageValueId sum = k.loop(trips, Add, F32, 0, [&](IndexExpr trip) {
    return k.load(in, trip * num(columns) + col());
  });
  k.store(out, col(), sum);
  return k.program;
}

/// `id` brought into 0 .. extent-1, as Gather does: negative ones count from
/// the end.
static StageValueId clampedIndex(KernelBuilder &k, StageValueId id,
                                 int64_t extent) {
  StageValueId zero = k.constant(I64, 0), last = k.constant(I64, extent - 1);
  StageValueId wrapped = k.op(Mod, I64, {id, k.constant(I64, extent)});
  return k.op(Max, I64, {zero, k.op(Min, I64, {last, wrapped})});
}

StageProgram gatherRows(int64_t rows, int64_t columns, int64_t tableRows) {
  KernelBuilder k(named("gather_rows", rows, columns), rows);
  uint32_t ids = k.input(I64, rows), table = k.input(F32, tableRows * columns),
           out = k.output(F32, rows * columns);
  k.stage(columns);
  StageValueId id = clampedIndex(k, k.load(ids, row()), tableRows);
  k.store(out, at(columns),
          k.load(table, IndexExpr::runtime(id) * num(columns) + col()));
  return k.program;
}

StageProgram gatherColumns(int64_t rows, int64_t columns,
                           int64_t tableColumns) {
  KernelBuilder k(named("gather_columns", rows, columns), rows);
  uint32_t ids = k.input(ElementType::I32, columns),
           table = k.input(F32, rows * tableColumns),
           out = k.output(F32, rows * columns);
  k.stage(columns);
  StageValueId id =
      clampedIndex(k, k.cast(k.load(ids, col()), I64), tableColumns);
  k.store(out, at(columns),
          k.load(table, row() * num(tableColumns) + IndexExpr::runtime(id)));
  return k.program;
}

StageProgram pad(int64_t rows, int64_t columns, int64_t before, int64_t after) {
  int64_t wide = before + columns + after;
  KernelBuilder k(named("pad", rows, wide) + "_" + std::to_string(before),
                  rows);
  uint32_t in = k.input(F32, rows * columns), out = k.output(F32, rows * wide);
  k.stage(wide);
  IndexExpr source = col() + num(-before);
  k.store(
      out, at(wide),
      k.load(in, row() * num(columns) + source, {{source, 0, columns - 1}}));
  return k.program;
}

StageProgram concat(int64_t rows, int64_t first, int64_t second) {
  int64_t wide = first + second;
  KernelBuilder k(named("concat", rows, wide) + "_" + std::to_string(first),
                  rows);
  uint32_t a = k.input(F32, rows * first), b = k.input(F32, rows * second),
           out = k.output(F32, rows * wide);
  k.stage(wide);
  IndexExpr rest = col() + num(-first);
  StageValueId x =
      k.load(a, row() * num(first) + col(), {{col(), 0, first - 1}});
  StageValueId y =
      k.load(b, row() * num(second) + rest, {{rest, 0, second - 1}});
  k.store(out, at(wide),
          k.op(Select, F32, {k.inRange(col(), 0, first - 1), x, y}));
  return k.program;
}

StageProgram transpose(int64_t rows, int64_t columns) {
  KernelBuilder k(named("transpose", rows, columns), rows);
  uint32_t in = k.input(F32, rows * columns),
           out = k.output(F32, rows * columns);
  k.stage(columns);
  k.store(out, at(columns), k.load(in, col() * num(rows) + row()));
  return k.program;
}

StageProgram repeat(int64_t rows, int64_t columns, int64_t group) {
  int64_t groups = (columns + group - 1) / group;
  KernelBuilder k(named("repeat", rows, columns) + "_" + std::to_string(group),
                  rows);
  uint32_t in = k.input(F32, rows * groups),
           out = k.output(F32, rows * columns);
  k.stage(columns);
  k.store(out, at(columns),
          k.load(in, row() * num(groups) + floorDiv(col(), group)));
  return k.program;
}

StageProgram maxPool(int64_t height, int64_t width) {
  KernelBuilder k(named("max_pool", height, width), height);
  uint32_t in = k.input(F32, height * width),
           out = k.output(F32, height * width);
  k.stage(width);
  StageValueId result = k.loop(3, Max, F32, -INFINITY, [&](IndexExpr i) {
    return k.loop(3, Max, F32, -INFINITY, [&](IndexExpr j) {
      IndexExpr y = row() + i + num(-1), x = col() + j + num(-1);
      StageValueId value = k.load(in, y * num(width) + x,
                                  {{y, 0, height - 1}, {x, 0, width - 1}});
      StageValueId inside = k.op(
          And, Bool, {k.inRange(y, 0, height - 1), k.inRange(x, 0, width - 1)});
      return k.op(Select, F32, {inside, value, k.constant(F32, -INFINITY)});
    });
  });
  k.store(out, at(width), result);
  return k.program;
}

StageProgram positions(int64_t rows, int64_t columns) {
  KernelBuilder k(named("positions", rows, columns), rows);
  uint32_t out = k.output(I64, rows * columns),
           flags = k.output(Bool, rows * columns);
  k.stage(columns);
  IndexExpr shifted = col() + row() * num(-3);
  StageValueId a = k.index(floorDiv(shifted, 7)), b = k.index(mod(shifted, 7)),
               c = k.index(mod(floorDiv(at(columns), 5), 3));
  StageValueId sum = k.op(
      Add, I64,
      {k.op(Mul, I64, {a, k.constant(I64, 1000)}), k.op(Add, I64, {b, c})});
  k.store(out, at(columns),
          k.op(Add, I64,
               {sum, k.index(floorDiv(shifted, 8) +
                             mod(shifted, 16) * num(100000))}));
  k.store(flags, at(columns),
          k.op(Or, Bool,
               {k.inRange(shifted, -2, 3),
                k.op(Lt, Bool, {k.index(col()), k.index(row())})}));
  return k.program;
}

StageProgram masked(int64_t rows, int64_t columns) {
  KernelBuilder k(named("masked", rows, columns), rows);
  uint32_t mask = k.input(Bool, rows * columns),
           in = k.input(F32, rows * columns),
           out = k.output(F32, rows * columns),
           flags = k.output(Bool, rows * columns);
  k.stage(columns);
  StageValueId m = k.load(mask, at(columns)), x = k.load(in, at(columns));
  k.store(out, at(columns), k.op(Select, F32, {m, x, k.op(Neg, F32, {x})}));
  k.store(flags, at(columns),
          k.op(Xor, Bool, {m, k.op(Gt, Bool, {x, k.constant(F32, 0)})}));
  return k.program;
}

StageProgram castToAll(ElementType from, int64_t count) {
  KernelBuilder k("cast_from_" + std::string(name(from)), 1);
  uint32_t in = k.input(from, count);
  std::vector<uint32_t> outputs;
  for (int to = 0; to < kNumElementTypes; ++to)
    outputs.push_back(k.output(static_cast<ElementType>(to), count));
  k.stage(count);
  StageValueId x = k.load(in, col());
  for (int to = 0; to < kNumElementTypes; ++to)
    k.store(outputs[to], col(),
            static_cast<ElementType>(to) == from
                ? x
                : k.cast(x, static_cast<ElementType>(to)));
  return k.program;
}

StageProgram everyOperation(ElementType type, int64_t count) {
  KernelBuilder k("every_operation_" + std::string(name(type)), 1);
  uint32_t a = k.input(type, count), b = k.input(type, count);
  std::vector<ScalarOpcode> unary, binary,
      comparisons = {Eq, Ne, Lt, Le, Gt, Ge};
  if (isFloat(type) && type == computeType(type)) {
    unary = {Neg, Abs, Sign, Floor, Ceil, Round, Sqrt};
    binary = {Add, Sub, Mul, Div, Rem, Mod, Min, Max};
  } else if (isInteger(type)) {
    unary = {Not, Neg, Abs, Sign, Floor, Ceil, Round};
    binary = {Add, Sub, Mul, Div, Rem,       Mod,        Min,
              Max, And, Or,  Xor, ShiftLeft, ShiftRight, Pow};
  } else if (type == Bool) {
    unary = {Not};
    binary = {And, Or, Xor};
    comparisons = {Eq, Ne};
  }
  struct Result {
    uint32_t argument;
    ScalarOpcode opcode;
    ElementType type;
    size_t arity;
  };
  std::vector<Result> results;
  for (ScalarOpcode opcode : unary)
    results.push_back({k.output(type, count), opcode, type, 1});
  for (ScalarOpcode opcode : binary)
    results.push_back({k.output(type, count), opcode, type, 2});
  for (ScalarOpcode opcode : comparisons)
    results.push_back({k.output(Bool, count), opcode, Bool, 2});
  if (isFloat(type))
    for (ScalarOpcode opcode : {IsNaN, IsInf})
      results.push_back({k.output(Bool, count), opcode, Bool, 1});
  k.stage(count);
  StageValueId x = k.load(a, col()), y = k.load(b, col());
  for (const Result &result : results) {
    std::vector<StageValueId> args = {x};
    if (result.arity == 2)
      args.push_back(y);
    k.store(result.argument, col(), k.op(result.opcode, result.type, args));
  }
  return k.program;
}

StageProgram manyTiles(int64_t rows, int64_t columns) {
  KernelBuilder k(named("many_tiles", rows, columns), rows);
  uint32_t in = k.input(F32, rows * columns),
           out = k.output(F32, rows * columns);
  uint32_t first = k.tile(F32, columns, 0), flags = k.tile(Bool, columns, 1),
           second = k.tile(ElementType::I32, columns, 0),
           half = k.tile(ElementType::F16, columns, 2);
  k.stage(columns);
  StageValueId x = k.load(in, at(columns));
  k.tileStore(first, x);
  k.tileStore(flags, k.op(Gt, Bool, {x, k.constant(F32, 0)}));
  StageValueId sum = k.reduce(Max, F32, x, -INFINITY);
  k.stage(columns);
  StageValueId y = k.op(Sub, F32, {k.tileLoad(first), sum});
  k.tileStore(second, k.cast(k.op(Mul, F32, {y, k.constant(F32, 100)}),
                             ElementType::I32));
  k.tileStore(half, k.cast(y, ElementType::F16));
  StageValueId count = k.reduce(Add, I64, k.cast(k.tileLoad(flags), I64), 0);
  k.stage(columns);
  StageValueId z =
      k.op(Add, F32,
           {k.cast(k.tileLoad(second), F32), k.cast(k.tileLoad(half), F32)});
  z = k.op(Add, F32, {z, k.cast(count, F32)});
  k.store(out, at(columns),
          k.op(Select, F32, {k.tileLoad(flags), z, k.op(Neg, F32, {z})}));
  return k.program;
}

std::vector<StageProgram> sampleKernels() {
  using enum ElementType;
  std::vector<StageProgram> result;
  for (int64_t columns : {4, 64, 776, 1024}) {
    result.push_back(elementwise(5, columns));
    result.push_back(softmax(5, columns));
    result.push_back(layerNorm(3, columns));
    result.push_back(argmax(3, columns));
    result.push_back(welford(3, columns));
  }
  result.push_back(softmax(3, 256, F16));
  result.push_back(softmax(3, 256, BF16));
  result.push_back(layerNorm(3, 256, F16));
  result.push_back(layerNorm(3, 256, BF16));
  for (ElementType type : {F64, I32, I64, U8})
    result.push_back(reduceRow(ScalarOpcode::Add, type, 3, 256, 0));
  result.push_back(reduceRow(ScalarOpcode::Max, U8, 3, 64, 0));
  result.push_back(reduceRow(ScalarOpcode::Min, I8, 3, 64, 127));
  result.push_back(reduceRow(ScalarOpcode::Or, Bool, 3, 64, 0));
  result.push_back(reduceColumns(37, 64));
  result.push_back(gatherRows(9, 64, 5));
  result.push_back(gatherColumns(4, 64, 11));
  result.push_back(pad(3, 31, 2, 3));
  result.push_back(pad(3, 32, 8, 4));
  result.push_back(concat(3, 8, 24));
  result.push_back(concat(3, 7, 25));
  result.push_back(transpose(9, 32));
  result.push_back(repeat(3, 64, 8));
  result.push_back(repeat(3, 64, 3));
  result.push_back(maxPool(7, 16));
  result.push_back(positions(6, 32));
  result.push_back(masked(3, 64));
  result.push_back(manyTiles(3, 256));
  return result;
}

} // namespace lockstitch::testing
