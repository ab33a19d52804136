// Products. Three phases, each spread over the pool:
//
//   load   Operands that cannot be used as they lie (16-bit and 8-bit types;
//          neither stride 1; transposed and not f32) are converted to packed
//          matrices of the compute type in scratch memory: only *distinct*
//          matrices, a broadcast batch costs one.
//   tiles  The result is cut into tiles of about kTileWork multiply-adds,
//          whatever the number of threads, and each tile is one
//          single-threaded product. Batch dimensions that continue the rows of
//          `a` under one `b` become rows first.
//   store  Only where the result cannot be written in place: beta * C is
//          added, the values rounded once and stored.
//
// Where it can, beta * C is laid down first and the product accumulates onto
// it. The activation is applied to each tile while it is in the cache.
#include "runtime/library/implementation.h"
#include "runtime/library/onednn.h"

#include <algorithm>
#include <numeric>

namespace lockstitch::library {
namespace {

constexpr int64_t kTileWork =
    int64_t{8}
    << 20; // measured: half of it costs up to 10 %, twice brings under 3 %

/// One operand as a batch of matrices.
struct Operand {
  int64_t offset = 0;
  std::vector<int64_t> batch; // strides
  int64_t row = 0, column = 0;
};

Operand split(const StridedView &view) {
  Operand operand;
  operand.offset = view.offset;
  operand.batch.assign(view.strides.begin(), view.strides.end() - 2);
  operand.row = view.strides[view.strides.size() - 2];
  operand.column = view.strides.back();
  return operand;
}

template <typename T> class PreparedMatMul final : public PreparedCall {
public:
  PreparedMatMul(const MatMulCall &call, Activation activation,
                 const LibraryOptions &options)
      : type(call.type), relu(activation == Activation::Relu), m(call.m),
        n(call.n), k(call.k), hasC(call.hasC), alpha(toCompute(call.alpha)),
        beta(toCompute(call.beta)), extents(call.batch), a(split(call.a)),
        b(split(call.b)), result(split(call.result)),
        kernels(levelKernels(options.level)), ops(typed<T>(kernels)) {
    if (hasC)
      c = split(call.c);
    simplifyBatch();
    for (int64_t extent : extents)
      batches *= extent;
    loadA = needsLoad(a, m, k);
    loadB = needsLoad(b, k, n);
    storeResult = needsLoad(result, m, n);
    if (loadA)
      packedA = pack(a, m, k);
    if (loadB)
      packedB = pack(b, k, n);
    chooseTile();
    chooseBackend(options);
  }

  int64_t scratchBytes(int) const override {
    int64_t sum = 0;
    if (loadA)
      sum += alignedBytes(distinct(a) * m * k * sizeof(T));
    if (loadB)
      sum += alignedBytes(distinct(b) * k * n * sizeof(T));
    if (storeResult)
      sum += alignedBytes(batches * m * n * sizeof(T));
    return sum;
  }

  std::string implementation() const override {
    return useOneDnn ? "onednn" : std::string("eigen ") + kernels.name;
  }

  void run(std::span<std::byte *const> args, std::byte *scratch,
           const ThreadPool &pool) const override {
    if (batches * m * n == 0)
      return;
    auto take = [&](int64_t elements) {
      T *memory = reinterpret_cast<T *>(scratch);
      scratch += alignedBytes(elements * sizeof(T));
      return memory;
    };
    const std::byte *cData = hasC ? args[2] : nullptr;
    std::byte *resultData = args[hasC ? 3 : 2];
    const T *aData = reinterpret_cast<const T *>(args[0]),
            *bData = reinterpret_cast<const T *>(args[1]);
    if (loadA) {
      T *packed = take(distinct(a) * m * k);
      loadAll(args[0], a, packedA, m, k, packed, pool);
      aData = packed;
    }
    if (loadB) {
      T *packed = take(distinct(b) * k * n);
      loadAll(args[1], b, packedB, k, n, packed, pool);
      bData = packed;
    }
    T *product =
        storeResult ? take(batches * m * n) : reinterpret_cast<T *>(resultData);

    int64_t tilesM = (m + tileM - 1) / tileM, tilesN = (n + tileN - 1) / tileN;
    int64_t tasks = batches * tilesM * tilesN;
    pool.parallelFor(tasks, taskFloor(tileM * tileN * std::max<int64_t>(k, 1)),
                     [&](int64_t begin, int64_t end, int) {
                       for (int64_t task = begin; task < end; ++task) {
                         int64_t batch = task / (tilesM * tilesN),
                                 tile = task % (tilesM * tilesN);
                         computeTile(aData, bData, cData, product, batch,
                                     tile / tilesN * tileM,
                                     tile % tilesN * tileN);
                       }
                     });
    if (storeResult)
      storeAll(product, cData, resultData, pool);
  }

private:
  static T toCompute(float value) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<int64_t>(
          value)); // an integer in range: libraryRefusal has looked
    else
      return static_cast<T>(value);
  }

  static int64_t taskFloor(int64_t work) {
    return std::max<int64_t>(1, kTaskFloor / std::max<int64_t>(work, 1));
  }

  /// Drops batch dimensions of extent 1, and turns the innermost ones into rows
  /// while `b` is the same for all of them.
  void simplifyBatch() {
    for (size_t i = extents.size(); i-- > 0;)
      if (extents[i] == 1)
        erase(i);
    while (!extents.empty()) {
      size_t last = extents.size() - 1;
      auto continues = [&](const Operand &o) {
        return o.batch[last] == m * o.row;
      };
      bool addend = !hasC || continues(c);
      if (b.batch[last] != 0 || !continues(a) || !continues(result) || !addend)
        break;
      m *= extents[last];
      erase(last);
    }
    // A matrix of one row or column may be taken to have any stride there.
    auto relax = [](Operand &o, int64_t rows, int64_t columns) {
      if (columns == 1 && o.row != 1)
        o.column = 1;
      else if (rows == 1 && o.column == 1)
        o.row = std::max<int64_t>(columns, 1);
      else if (rows == 1 && columns != 1)
        o.row = 1;
    };
    relax(a, m, k);
    relax(b, k, n);
    relax(result, m, n);
  }

  void erase(size_t i) {
    extents.erase(extents.begin() + i);
    for (Operand *o : {&a, &b, &result})
      o->batch.erase(o->batch.begin() + i);
    if (hasC)
      c.batch.erase(c.batch.begin() + i);
  }

  bool needsLoad(const Operand &o, int64_t rows, int64_t columns) const {
    return !isComputeType(type) ||
           (o.column != 1 && (o.row != 1 || !std::is_same_v<T, float>));
  }

  int64_t distinct(const Operand &o) const {
    int64_t count = 1;
    for (size_t i = 0; i < extents.size(); ++i)
      count *= o.batch[i] == 0 ? 1 : extents[i];
    return count;
  }

  Operand pack(const Operand &o, int64_t rows, int64_t columns) const {
    Operand packed;
    packed.row = columns;
    packed.column = 1;
    packed.batch.assign(extents.size(), 0);
    int64_t stride = rows * columns;
    for (size_t i = extents.size(); i-- > 0;)
      if (o.batch[i] != 0) {
        packed.batch[i] = stride;
        stride *= extents[i];
      }
    return packed;
  }

  /// Element offset of matrix `index`; with `skipBroadcast` the index counts
  /// distinct matrices only.
  int64_t at(const Operand &o, int64_t index,
             bool skipBroadcast = false) const {
    int64_t offset = o.offset;
    for (size_t i = extents.size(); i-- > 0;) {
      if (skipBroadcast && o.batch[i] == 0)
        continue;
      offset += index % extents[i] * o.batch[i];
      index /= extents[i];
    }
    return offset;
  }

  /// About kTileWork multiply-adds; columns are cut first (in multiples of 64,
  /// whole cache lines), then rows (of 48).
  void chooseTile() {
    tileM = std::max<int64_t>(m, 1);
    tileN = std::max<int64_t>(n, 1);
    auto round = [](int64_t value, int64_t unit) {
      return std::max(unit, (value + unit - 1) / unit * unit);
    };
    auto work = [&] {
      return static_cast<double>(tileM) * tileN * std::max<int64_t>(k, 1);
    };
    if (work() > kTileWork && tileM > 384)
      tileM = std::min(tileM, round(static_cast<int64_t>(384), 48));
    if (work() > kTileWork)
      tileN = std::min(
          tileN,
          std::max<int64_t>(
              round(static_cast<int64_t>(tileN * (kTileWork / work())), 64),
              64));
    if (work() > 2.0 * kTileWork)
      tileM = std::min(
          tileM, round(static_cast<int64_t>(tileM * (kTileWork / work())), 48));
  }

  void chooseBackend(const LibraryOptions &options) {
    if constexpr (std::is_same_v<T, float>) {
      auto takes = [](const Operand &o, int64_t rows, int64_t columns) {
        return oneDnnTakes(rows, columns, o.row, o.column);
      };
      bool possible = haveOneDnn() && takes(loadA ? packedA : a, m, k) &&
                      takes(loadB ? packedB : b, k, n) &&
                      (storeResult || takes(result, m, n)) && k > 0;
      if (options.backend == LibraryOptions::Backend::OneDnn)
        useOneDnn = possible;
      else if (options.backend == LibraryOptions::Backend::Best)
        useOneDnn =
            possible && preferOneDnn(std::min(m, tileM), std::min(n, tileN));
    }
  }

  void loadAll(const std::byte *data, const Operand &o, const Operand &packed,
               int64_t rows, int64_t columns, T *target,
               const ThreadPool &pool) const {
    int64_t matrices = distinct(o);
    if (columns == 0)
      return;
    pool.parallelFor(
        matrices * rows, taskFloor(columns),
        [&](int64_t begin, int64_t end, int) {
          for (int64_t row = begin; row < end;) {
            int64_t matrix = row / rows, first = row % rows,
                    count = std::min(rows - first, end - row);
            int64_t offset = at(o, matrix, true) + first * o.row;
            ops.load(
                {type, data + offset * static_cast<int64_t>(byteSize(type)),
                 o.row, o.column},
                count, columns, target + (matrix * rows + first) * columns);
            row += count;
          }
        });
  }

  void computeTile(const T *aData, const T *bData, const std::byte *cData,
                   T *product, int64_t batch, int64_t i, int64_t j) const {
    const Operand &left = loadA ? packedA : a, &right = loadB ? packedB : b;
    GemmTask<T> task;
    task.m = std::min(tileM, m - i);
    task.n = std::min(tileN, n - j);
    task.k = k;
    task.a = aData + at(left, batch) + i * left.row;
    task.aRow = left.row;
    task.aColumn = left.column;
    task.b = bData + at(right, batch) + j * right.column;
    task.bRow = right.row;
    task.bColumn = right.column;
    task.alpha = alpha;
    if (storeResult) {
      task.c = product + (batch * m + i) * n + j;
      task.cRow = n;
      task.cColumn = 1;
    } else {
      task.c = product + at(result, batch) + i * result.row + j * result.column;
      task.cRow = result.row;
      task.cColumn = result.column;
      if (hasC) {
        const T *addend = reinterpret_cast<const T *>(cData) + at(c, batch) +
                          i * c.row + j * c.column;
        ops.scaled({type, addend, c.row, c.column}, beta, task.m, task.n,
                   task.c, task.cRow, task.cColumn);
        task.accumulate = true;
      }
    }
    multiply(task);
    if (relu && !storeResult)
      ops.relu(task.c, task.m, task.n, task.cRow, task.cColumn);
  }

  void multiply(const GemmTask<T> &task) const {
    if constexpr (std::is_same_v<T, float>)
      if (useOneDnn && oneDnnGemm(task))
        return;
    ops.gemm(task);
  }

  void storeAll(const T *product, const std::byte *cData, std::byte *resultData,
                const ThreadPool &pool) const {
    int64_t size = static_cast<int64_t>(byteSize(type));
    pool.parallelFor(
        batches * m, taskFloor(n), [&](int64_t begin, int64_t end, int) {
          for (int64_t row = begin; row < end;) {
            int64_t batch = row / m, first = row % m,
                    count = std::min(m - first, end - row);
            StoredMatrix addend{type, nullptr, 0, 0};
            if (hasC)
              addend = {type, cData + (at(c, batch) + first * c.row) * size,
                        c.row, c.column};
            ops.store(product + row * n, addend, beta, count, n,
                      resultData +
                          (at(result, batch) + first * result.row) * size,
                      type, result.row, result.column, relu);
            row += count;
          }
        });
  }

  ElementType type;
  bool relu;
  int64_t m, n, k;
  bool hasC;
  T alpha, beta;
  std::vector<int64_t> extents;
  Operand a, b, c, result, packedA, packedB;
  const LevelKernels &kernels;
  const TypedKernels<T> &ops;
  int64_t batches = 1, tileM = 1, tileN = 1;
  bool loadA = false, loadB = false, storeResult = false, useOneDnn = false;
};

} // namespace

std::shared_ptr<const PreparedCall>
prepareMatMul(const MatMulCall &call, Activation activation,
              const LibraryOptions &options) {
  switch (call.type) {
  case ElementType::F32:
  case ElementType::F16:
  case ElementType::BF16:
    return std::make_shared<PreparedMatMul<float>>(call, activation, options);
  case ElementType::F64:
    return std::make_shared<PreparedMatMul<double>>(call, activation, options);
  case ElementType::I64:
  case ElementType::U64:
    return std::make_shared<PreparedMatMul<uint64_t>>(call, activation,
                                                      options);
  default:
    return std::make_shared<PreparedMatMul<uint32_t>>(call, activation,
                                                      options);
  }
}

} // namespace lockstitch::library
