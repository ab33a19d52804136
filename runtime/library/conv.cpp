// Convolutions of 1 to 3 spatial dimensions, grouped, strided, dilated, padded;
// three ways:
//
//   product  Kernel 1, stride 1, no padding:
//            result[M/g, positions] = filter[M/g, C/g] x input[C/g, positions].
//   im2col   A tile of output positions at a time: the tile's input values are
//            laid out as a matrix [C/g x kernel, tile] in scratch memory of the
//            thread, then a product. The tile is chosen so that the matrix
//            stays in the second-level cache.
//   direct   One input channel per group (depthwise): on a copy of the plane
//            with its zeros around it, blocks of outputs stay in registers
//            while the taps go by.
//
// Cut into (batch, group, tile of channels, tile of positions) tasks that
// depend on the shape only. 16-bit and 8-bit types are converted to the compute
// type as a whole first, and the result once at the end.
#include "runtime/library/implementation.h"
#include "runtime/library/onednn.h"

#include <algorithm>

namespace lockstitch::library {
namespace {

constexpr int64_t kColumnBytes = 512 << 10;     // of one im2col tile
constexpr int64_t kTileWork = int64_t{4} << 20; // multiply-adds of one task

template <typename T> class PreparedConv final : public PreparedCall {
public:
  PreparedConv(const ConvCall &call, Activation activation,
               const LibraryOptions &options)
      : call(call), relu(activation == Activation::Relu),
        kernels(levelKernels(options.level)), ops(typed<T>(kernels)) {
    size_t rank = call.inputSpatial.size(), skip = 3 - rank;
    for (size_t i = 0; i < rank; ++i) {
      geometry.in[skip + i] = call.inputSpatial[i];
      geometry.kernel[skip + i] = call.kernel[i];
      geometry.out[skip + i] = call.outputSpatial[i];
      geometry.stride[skip + i] = call.strides[i];
      geometry.dilation[skip + i] = call.dilations[i];
      geometry.pad[skip + i] = call.padsBegin[i];
      pointwise &= call.kernel[i] == 1 && call.strides[i] == 1 &&
                   call.padsBegin[i] == 0 &&
                   call.outputSpatial[i] == call.inputSpatial[i];
    }
    auto volume = [](const int64_t (&x)[3]) { return x[0] * x[1] * x[2]; };
    planeIn = volume(geometry.in);
    planeOut = volume(geometry.out);
    taps = volume(geometry.kernel);
    channels = call.inputChannels / call.group;
    filters = call.outputChannels / call.group;
    depth = channels * taps;
    direct = channels == 1 && !pointwise;
    convert = !isComputeType(call.type);
    chooseTile();
    if constexpr (std::is_same_v<T, float>) {
      bool possible = haveOneDnn() && depth > 0 && planeIn > 0;
      if (!direct && options.backend == LibraryOptions::Backend::OneDnn)
        useOneDnn = possible;
      else if (!direct && options.backend == LibraryOptions::Backend::Best)
        useOneDnn = possible && preferOneDnn(tileM, tileN);
    }
  }

  int64_t scratchBytes(int threads) const override {
    int64_t sum =
        pointwise ? 0 : threads * (direct ? paddedBytes() : columnBytes());
    if (convert)
      sum += alignedBytes(inputElements() * sizeof(T)) +
             alignedBytes(filterElements() * sizeof(T)) +
             alignedBytes(call.outputChannels * sizeof(T)) +
             alignedBytes(resultElements() * sizeof(T));
    return sum;
  }

  std::string implementation() const override {
    std::string how = pointwise ? " (product)"
                      : direct  ? " (direct)"
                                : " (im2col)";
    return (useOneDnn ? std::string("onednn")
                      : std::string("eigen ") + kernels.name) +
           how;
  }

  void run(std::span<std::byte *const> args, std::byte *scratch,
           const ThreadPool &pool) const override {
    std::byte *resultData = args[call.hasBias ? 3 : 2];
    if (resultElements() == 0)
      return;
    const T *input, *filter, *bias = nullptr;
    T *result;
    if (convert) {
      auto load = [&](const std::byte *data, int64_t elements) {
        T *target = reinterpret_cast<T *>(scratch);
        scratch += alignedBytes(elements * sizeof(T));
        pool.parallelFor(
            elements, kTaskFloor, [&](int64_t begin, int64_t end, int) {
              ops.load(
                  {call.type,
                   data + begin * static_cast<int64_t>(byteSize(call.type)), 0,
                   1},
                  1, end - begin, target + begin);
            });
        return target;
      };
      input = load(args[0], inputElements());
      filter = load(args[1], filterElements());
      if (call.hasBias)
        bias = load(args[2], call.outputChannels);
      result = reinterpret_cast<T *>(scratch);
      scratch += alignedBytes(resultElements() * sizeof(T));
    } else {
      input = reinterpret_cast<const T *>(args[0]);
      filter = reinterpret_cast<const T *>(args[1]);
      if (call.hasBias)
        bias = reinterpret_cast<const T *>(args[2]);
      result = reinterpret_cast<T *>(resultData);
    }

    direct ? runDirect(input, filter, bias, result, scratch, pool)
           : runProducts(input, filter, bias, result, scratch, pool);

    if (convert)
      pool.parallelFor(
          resultElements(), kTaskFloor, [&](int64_t begin, int64_t end, int) {
            ops.store(result + begin, {call.type, nullptr, 0, 0}, T(0), 1,
                      end - begin,
                      resultData +
                          begin * static_cast<int64_t>(byteSize(call.type)),
                      call.type, 0, 1, relu);
          });
  }

private:
  int64_t inputElements() const {
    return call.batch * call.inputChannels * planeIn;
  }
  int64_t filterElements() const { return call.outputChannels * depth; }
  int64_t resultElements() const {
    return call.batch * call.outputChannels * planeOut;
  }
  int64_t paddedBytes() const {
    int64_t elements = planeOut > 0 ? 1 : 0;
    for (int d = 0; d < 3; ++d)
      elements *= paddedExtent(geometry.out[d], geometry.kernel[d],
                               geometry.stride[d], geometry.dilation[d]);
    return alignedBytes(elements * static_cast<int64_t>(sizeof(T)));
  }
  int64_t columnBytes() const {
    return alignedBytes(depth * tileN * static_cast<int64_t>(sizeof(T)));
  }

  void chooseTile() {
    auto roundUp = [](int64_t value, int64_t unit) {
      return (value + unit - 1) / unit * unit;
    };
    int64_t work = std::max<int64_t>(depth, 1);
    int64_t positions = std::max<int64_t>(planeOut, 1);
    tileM = std::max<int64_t>(filters, 1);
    tileN = std::max<int64_t>(
        kTileWork / std::max<int64_t>(work * std::min<int64_t>(tileM, 512), 1),
        64);
    if (!pointwise)
      tileN = std::min(
          tileN,
          std::max<int64_t>(
              kColumnBytes / static_cast<int64_t>(sizeof(T)) / work, 32));
    tileN = std::min(roundUp(tileN, 16), positions);
    if (work * tileM * tileN > 2 * kTileWork)
      tileM = std::min(
          tileM,
          roundUp(std::max<int64_t>(kTileWork / (work * tileN), 48), 48));
  }

  void runDirect(const T *input, const T *filter, const T *bias, T *result,
                 std::byte *scratch, const ThreadPool &pool) const {
    int64_t planes = call.batch * call.outputChannels;
    int64_t floor = std::max<int64_t>(
        1, kTaskFloor / std::max<int64_t>(planeOut * taps, 1));
    pool.parallelFor(planes, floor, [&](int64_t begin, int64_t end, int slot) {
      T *padded = reinterpret_cast<T *>(scratch + slot * paddedBytes());
      for (int64_t plane = begin; plane < end; ++plane) {
        int64_t batch = plane / call.outputChannels,
                channel = plane % call.outputChannels;
        DirectConvTask<T> task = geometry;
        task.input =
            input + (batch * call.inputChannels + channel / filters) * planeIn;
        task.filter = filter + channel * taps;
        task.result = result + plane * planeOut;
        task.init = bias ? bias[channel] : T(0);
        ops.directConv(task, padded);
        if (relu && !convert)
          ops.relu(task.result, 1, planeOut, planeOut, 1);
      }
    });
  }

  void runProducts(const T *input, const T *filter, const T *bias, T *result,
                   std::byte *scratch, const ThreadPool &pool) const {
    int64_t tilesM = (filters + tileM - 1) / tileM,
            tilesN = (planeOut + tileN - 1) / tileN;
    int64_t tasks = call.batch * call.group * tilesM * tilesN;
    int64_t floor = std::max<int64_t>(
        1, kTaskFloor / std::max<int64_t>(tileM * tileN * depth, 1));
    pool.parallelFor(tasks, floor, [&](int64_t begin, int64_t end, int slot) {
      T *column = reinterpret_cast<T *>(scratch + slot * columnBytes());
      for (int64_t task = begin; task < end; ++task) {
        int64_t tile = task % (tilesM * tilesN),
                image = task / (tilesM * tilesN); // image: batch x group
        // Tiles of channels are neighbours: they share the columns.
        int64_t firstFilter = tile % tilesM * tileM,
                first = tile / tilesM * tileN;
        int64_t count = std::min(tileN, planeOut - first),
                group = image % call.group;
        const T *image0 = input + image * channels * planeIn;
        GemmTask<T> product;
        product.m = std::min(tileM, filters - firstFilter);
        product.n = count;
        product.k = depth;
        product.a = filter + (group * filters + firstFilter) * depth;
        product.aRow = std::max<int64_t>(depth, 1);
        product.aColumn = 1;
        product.b = image0 + first;
        product.bRow = planeIn;
        if (!pointwise) {
          if (firstFilter == 0 || task == begin)
            fillColumn(image0, first, count, column);
          product.b = column;
          product.bRow = count;
        }
        product.bColumn = 1;
        product.c = result + (image * filters + firstFilter) * planeOut + first;
        product.cRow = planeOut;
        product.cColumn = 1;
        if (bias) {
          for (int64_t i = 0; i < product.m; ++i)
            std::fill_n(product.c + i * planeOut, count,
                        bias[group * filters + firstFilter + i]);
          product.accumulate = true;
        }
        multiply(product);
        if (relu && !convert)
          ops.relu(product.c, product.m, product.n, product.cRow, 1);
      }
    });
  }

  void fillColumn(const T *input, int64_t first, int64_t count,
                  T *column) const {
    Im2ColTask<T> task;
    task.geometry = geometry;
    task.geometry.input = input;
    task.channels = channels;
    task.first = first;
    task.count = count;
    task.column = column;
    ops.im2col(task);
  }

  void multiply(const GemmTask<T> &product) const {
    if constexpr (std::is_same_v<T, float>)
      if (useOneDnn && oneDnnGemm(product))
        return;
    ops.gemm(product);
  }

  ConvCall call;
  bool relu;
  const LevelKernels &kernels;
  const TypedKernels<T> &ops;
  DirectConvTask<T> geometry;
  int64_t planeIn = 0, planeOut = 0, taps = 0, channels = 0, filters = 0,
          depth = 0, tileM = 1, tileN = 1;
  bool pointwise = true, direct = false, convert = false, useOneDnn = false;
};

} // namespace

std::shared_ptr<const PreparedCall> prepareConv(const ConvCall &call,
                                                Activation activation,
                                                const LibraryOptions &options) {
  switch (call.type) {
  case ElementType::F32:
  case ElementType::F16:
  case ElementType::BF16:
    return std::make_shared<PreparedConv<float>>(call, activation, options);
  case ElementType::F64:
    return std::make_shared<PreparedConv<double>>(call, activation, options);
  case ElementType::I64:
  case ElementType::U64:
    return std::make_shared<PreparedConv<uint64_t>>(call, activation, options);
  default:
    return std::make_shared<PreparedConv<uint32_t>>(call, activation, options);
  }
}

} // namespace lockstitch::library
