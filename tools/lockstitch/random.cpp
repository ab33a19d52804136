// Random inputs. The generator is SplitMix64 and the normal distribution is
// Box-Muller's, written out here because the standard library's distributions
// differ from one library to the next.
#include "runtime/program/float16.h"
#include "tools/lockstitch/inputs.h"

#include <cmath>
#include <cstring>
#include <numbers>

namespace lockstitch::tool {
namespace {

class Generator {
public:
  explicit Generator(uint64_t seed) : state(seed) {}
  uint64_t next() {
    uint64_t z = (state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// In (0, 1].
  double uniform() { return static_cast<double>((next() >> 11) + 1) * 0x1p-53; }
  double normal() {
    double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

private:
  uint64_t state;
};

template <typename T> void store(Array &array, int64_t index, T value) {
  std::memcpy(array.bytes.data() + index * sizeof(T), &value, sizeof(T));
}

} // namespace

Array randomArray(const TensorInfo &info, uint64_t seed, size_t index) {
  Array array{info.type, info.extents(), {}};
  array.bytes.resize(info.bytes());
  Generator generator(seed * 0x100000001b3 + index);
  for (int64_t i = 0, n = info.elements(); i < n; ++i) {
    switch (info.type) {
    case ElementType::F16:
      store(array, i, floatToHalf(static_cast<float>(generator.normal() / 2)));
      break;
    case ElementType::BF16:
      store(array, i,
            floatToBFloat16(static_cast<float>(generator.normal() / 2)));
      break;
    case ElementType::F32:
      store(array, i, static_cast<float>(generator.normal() / 2));
      break;
    case ElementType::F64:
      store(array, i, generator.normal() / 2);
      break;
    case ElementType::Bool:
      store(array, i, static_cast<uint8_t>(generator.next() % 2));
      break;
    case ElementType::I32:
      store(array, i, static_cast<int32_t>(generator.next() % 2));
      break;
    case ElementType::I64:
      store(array, i, static_cast<int64_t>(generator.next() % 2));
      break;
    case ElementType::I8:
    case ElementType::U8:
      store(array, i, static_cast<uint8_t>(generator.next() % 10));
      break;
    case ElementType::I16:
    case ElementType::U16:
      store(array, i, static_cast<uint16_t>(generator.next() % 10));
      break;
    case ElementType::U32:
      store(array, i, static_cast<uint32_t>(generator.next() % 10));
      break;
    case ElementType::U64:
      store(array, i, generator.next() % 10);
      break;
    }
  }
  return array;
}

} // namespace lockstitch::tool
