#include "tests/unit/runtime/library_reference.h"

#include "runtime/program/float16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

namespace lockstitch::testing {
namespace {

template <typename T> T read(const std::byte *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

/// Element offsets of operand `index` at a position of the result's (or the
/// product's) index space.
struct Value {
  double real = 0; // floating-point types
  double magnitude =
      0; // sum of absolute values: what rounding errors are relative to
  uint64_t integer = 0; // integers, modulo 2^64
};

Value matmulElement(const MatMulCall &call, const std::vector<Buffer> &operands,
                    const std::vector<int64_t> &batch, int64_t i, int64_t j) {
  auto offset = [&](const StridedView &view, int64_t row, int64_t column) {
    int64_t at = view.offset;
    for (size_t d = 0; d < batch.size(); ++d)
      at += batch[d] * view.strides[d];
    return at + row * view.strides[batch.size()] +
           column * view.strides[batch.size() + 1];
  };
  Value value;
  for (int64_t k = 0; k < call.k; ++k) {
    int64_t a = offset(call.a, i, k), b = offset(call.b, k, j);
    if (isFloat(call.type)) {
      double term = operands[0].at(a) * operands[1].at(b);
      value.real += term;
      value.magnitude += std::fabs(term);
    } else {
      value.integer += operands[0].integerAt(a) * operands[1].integerAt(b);
    }
  }
  value.real *= call.alpha;
  value.magnitude *= std::fabs(call.alpha);
  value.integer *= static_cast<uint64_t>(static_cast<int64_t>(call.alpha));
  if (call.hasC) {
    int64_t c = offset(call.c, i, j);
    if (isFloat(call.type)) {
      value.real += call.beta * operands[2].at(c);
      value.magnitude += std::fabs(call.beta * operands[2].at(c));
    } else {
      value.integer += static_cast<uint64_t>(static_cast<int64_t>(call.beta)) *
                       operands[2].integerAt(c);
    }
  }
  return value;
}

Value convElement(const ConvCall &call, const std::vector<Buffer> &operands,
                  int64_t n, int64_t m, const std::vector<int64_t> &position) {
  int64_t channels = call.inputChannels / call.group,
          group = m / (call.outputChannels / call.group);
  size_t rank = position.size();
  std::vector<int64_t> tap(rank, 0);
  int64_t taps = 1;
  for (int64_t extent : call.kernel)
    taps *= extent;
  Value value;
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t t = 0; t < taps; ++t) {
      int64_t rest = t;
      for (size_t d = rank; d-- > 0; rest /= call.kernel[d])
        tap[d] = rest % call.kernel[d];
      int64_t input = n * call.inputChannels + group * channels + c;
      bool inside = true;
      for (size_t d = 0; d < rank; ++d) {
        int64_t at = position[d] * call.strides[d] +
                     tap[d] * call.dilations[d] - call.padsBegin[d];
        inside &= at >= 0 && at < call.inputSpatial[d];
        input = input * call.inputSpatial[d] + at;
      }
      if (!inside)
        continue;
      int64_t filter = (m * channels + c) * taps + t;
      if (isFloat(call.type)) {
        double term = operands[0].at(input) * operands[1].at(filter);
        value.real += term;
        value.magnitude += std::fabs(term);
      } else {
        value.integer +=
            operands[0].integerAt(input) * operands[1].integerAt(filter);
      }
    }
  if (call.hasBias) {
    value.real += isFloat(call.type) ? operands[2].at(m) : 0;
    value.magnitude += std::fabs(isFloat(call.type) ? operands[2].at(m) : 0);
    value.integer += isFloat(call.type) ? 0 : operands[2].integerAt(m);
  }
  return value;
}

/// Calls visit(result offset, value) for every element of the result.
template <typename Visit>
void expected(const LibraryCall &call, const std::vector<Buffer> &operands,
              Visit visit) {
  std::vector<int64_t> extents = call.kind == LibraryCall::Kind::MatMul
                                     ? call.matmul.batch
                                     : call.conv.outputSpatial;
  int64_t count = 1;
  for (int64_t extent : extents)
    count *= extent;
  std::vector<int64_t> index(extents.size());
  for (int64_t flat = 0; flat < count; ++flat) {
    int64_t rest = flat;
    for (size_t d = extents.size(); d-- > 0; rest /= extents[d])
      index[d] = rest % extents[d];
    if (call.kind == LibraryCall::Kind::MatMul) {
      const MatMulCall &m = call.matmul;
      for (int64_t i = 0; i < m.m; ++i)
        for (int64_t j = 0; j < m.n; ++j) {
          int64_t at = m.result.offset + i * m.result.strides[index.size()] +
                       j * m.result.strides[index.size() + 1];
          for (size_t d = 0; d < index.size(); ++d)
            at += index[d] * m.result.strides[d];
          visit(at, matmulElement(m, operands, index, i, j));
        }
    } else {
      for (int64_t n = 0; n < call.conv.batch; ++n)
        for (int64_t m = 0; m < call.conv.outputChannels; ++m)
          visit((n * call.conv.outputChannels + m) * count + flat,
                convElement(call.conv, operands, n, m, index));
    }
  }
}

/// Operands and what must come out, computed once for all the ways in which a
/// call is run.
struct Expectation {
  LibraryCall call;
  uint32_t seed = 0;
  bool fraction = false;
  std::vector<Buffer> operands; // without the result
  std::vector<std::pair<int64_t, Value>> values;
};

const Expectation &expectation(const LibraryCall &call, uint32_t seed,
                               bool fraction) {
  static Expectation last[2];
  Expectation &e = last[fraction];
  if (!e.operands.empty() && e.call == call && e.seed == seed)
    return e;
  e = {call, seed, fraction, {}, {}};
  for (size_t i = 0; i + 1 < operandCount(call); ++i) {
    ElementType type = operandType(call);
    e.operands.emplace_back(type, operandBytes(call, i) /
                                      static_cast<int64_t>(byteSize(type)));
    e.operands.back().fill(seed + static_cast<uint32_t>(i), fraction);
  }
  expected(call, e.operands, [&](int64_t at, Value value) {
    if (call.activation == Activation::Relu)
      value.real = std::max(value.real, 0.0);
    e.values.emplace_back(at, value);
  });
  return e;
}

} // namespace

Buffer::Buffer(ElementType type, int64_t elements)
    : type(type), bytes(elements * byteSize(type)) {}

double Buffer::at(int64_t index) const {
  const std::byte *from = &bytes.at(index * byteSize(type));
  switch (type) {
  case ElementType::F16:
    return halfToFloat(read<uint16_t>(from));
  case ElementType::BF16:
    return bfloat16ToFloat(read<uint16_t>(from));
  case ElementType::F32:
    return read<float>(from);
  case ElementType::F64:
    return read<double>(from);
  default:
    return static_cast<double>(static_cast<int64_t>(integerAt(index)));
  }
}

/// Signed types sign-extended.
uint64_t Buffer::integerAt(int64_t index) const {
  const std::byte *from = &bytes.at(index * byteSize(type));
  switch (type) {
  case ElementType::I8:
    return static_cast<uint64_t>(static_cast<int64_t>(read<int8_t>(from)));
  case ElementType::I16:
    return static_cast<uint64_t>(static_cast<int64_t>(read<int16_t>(from)));
  case ElementType::I32:
    return static_cast<uint64_t>(static_cast<int64_t>(read<int32_t>(from)));
  case ElementType::U8:
    return read<uint8_t>(from);
  case ElementType::U16:
    return read<uint16_t>(from);
  case ElementType::U32:
    return read<uint32_t>(from);
  default:
    return read<uint64_t>(from);
  }
}

void Buffer::setInteger(int64_t index, uint64_t value) {
  std::memcpy(&bytes.at(index * byteSize(type)), &value, byteSize(type));
}

void Buffer::set(int64_t index, double value) {
  if (type == ElementType::F16)
    setInteger(index, doubleToHalf(value));
  else if (type == ElementType::BF16)
    setInteger(index, doubleToBFloat16(value));
  else if (type == ElementType::F32)
    setInteger(index, std::bit_cast<uint32_t>(static_cast<float>(value)));
  else if (type == ElementType::F64)
    setInteger(index, std::bit_cast<uint64_t>(value));
  else
    setInteger(index, static_cast<uint64_t>(static_cast<int64_t>(value)));
}

void Buffer::fill(uint32_t seed, bool fraction) {
  std::mt19937_64 random(seed);
  for (int64_t i = 0; i < static_cast<int64_t>(bytes.size() / byteSize(type));
       ++i) {
    if (!isFloat(type))
      setInteger(i, random());
    else if (fraction)
      set(i, static_cast<double>(random() % 2000001) / 1e6 - 1);
    else
      set(i, static_cast<double>(random() % 17) / 2 - 4);
  }
}

void Buffer::poison() {
  for (int64_t i = 0; i < static_cast<int64_t>(bytes.size() / byteSize(type));
       ++i)
    isFloat(type) ? set(i, NAN) : setInteger(i, 0x5a5a5a5a5a5a5a5a);
}

std::string checkCall(const LibraryCall &call, const LibraryOptions &options,
                      int threads, uint32_t seed, bool fraction) {
  auto prepared = prepareLibraryCall(call, "test", options);
  if (!prepared.ok())
    return prepared.error().messages[0].reason;
  ElementType type = operandType(call);
  const Expectation &wanted = expectation(call, seed, fraction);
  std::vector<Buffer> operands = wanted.operands;
  operands.emplace_back(type, operandBytes(call, operands.size()) /
                                  static_cast<int64_t>(byteSize(type)));
  Buffer &result = operands.back();
  result.poison();
  std::vector<std::byte> before = result.bytes;
  std::vector<std::byte *> args;
  for (Buffer &operand : operands)
    args.push_back(operand.bytes.data());
  // Exactly as much scratch as was asked for, so that the sanitizer sees any
  // byte beyond, and full of NaNs.
  int64_t scratchBytes = (*prepared)->scratchBytes(threads);
  std::unique_ptr<std::byte[], void (*)(std::byte *)> scratch(
      static_cast<std::byte *>(std::aligned_alloc(
          64, (std::max<int64_t>(scratchBytes, 1) + 63) / 64 * 64)),
      [](std::byte *memory) { std::free(memory); });
  std::memset(scratch.get(), 0xff, scratchBytes);
  ThreadPool pool(threads);
  (*prepared)->run(args, scratch.get(), pool);

  std::string difference;
  std::vector<bool> written(result.bytes.size() / byteSize(type));
  for (const auto &[at, value] : wanted.values) {
    written[at] = true;
    bool same;
    if (!isFloat(type)) {
      Buffer one(type, 1);
      one.setInteger(0, value.integer);
      same = one.integerAt(0) == result.integerAt(at);
    } else if (!fraction) {
      Buffer one(type, 1);
      one.set(0, value.real);
      same = one.at(0) == result.at(at);
    } else {
      double unit = type == ElementType::F64   ? 1e-14
                    : type == ElementType::F32 ? 2e-6
                    : type == ElementType::F16 ? 1e-3
                                               : 8e-3;
      same = std::fabs(result.at(at) - value.real) <=
             unit * (value.magnitude + 1e-3);
    }
    if (!same && difference.empty())
      difference = "element " + std::to_string(at) + " is " +
                   std::to_string(result.at(at)) + " instead of " +
                   (isFloat(type)
                        ? std::to_string(value.real)
                        : std::to_string(static_cast<int64_t>(value.integer))) +
                   " (" + (*prepared)->implementation() + ", " +
                   std::to_string(threads) + " threads)";
  }
  for (size_t i = 0; i < written.size(); ++i)
    if (!written[i] && difference.empty() &&
        std::memcmp(&before[i * byteSize(type)],
                    &result.bytes[i * byteSize(type)], byteSize(type)) != 0)
      difference =
          "element " + std::to_string(i) + " between the results was written";
  return difference;
}

void checkEverywhere(const LibraryCall &call, uint32_t seed) {
  std::vector<LibraryOptions> choices;
  for (int level : {1, 2, 3, 4})
    choices.push_back({LibraryOptions::Backend::Eigen, level});
  choices.push_back({LibraryOptions::Backend::Best, 4});
  if (!libraryRefusal(call, LibraryOptions::Backend::OneDnn))
    choices.push_back({LibraryOptions::Backend::OneDnn, 4});
  for (const LibraryOptions &options : choices) {
    EXPECT_EQ(checkCall(call, options, 1, seed, false), "");
    EXPECT_EQ(checkCall(call, options, 3, seed, false), "");
    if (isFloat(operandType(call)))
      EXPECT_EQ(checkCall(call, options, 2, seed, true), "");
  }
}

} // namespace lockstitch::testing
