//===- kernel_setup.cpp - a launch that can be repeated -------------------===//
#include "tests/simulator/support/kernel_setup.h"

#include <fstream>
#include <sstream>

namespace lockstitch::simtest {

Outcome run(const Module &module, const Setup &setup, const Options &options) {
  Memory memory;
  std::vector<Argument> arguments;
  std::vector<uint64_t> addresses;
  for (size_t i = 0; i < setup.arguments.size(); ++i) {
    const Buffer &b = setup.arguments[i];
    if (b.isScalar) {
      Argument a;
      a.bytes = b.content;
      arguments.push_back(a);
      addresses.push_back(0);
      continue;
    }
    uint64_t bytes = b.bytes;
    if (options.shrunk == (int)i)
      bytes -= b.elementBytes;
    uint64_t address = memory.allocate(bytes, b.name);
    if (!b.content.empty())
      memory.write(address, b.content.data(), bytes);
    TensorRange range;
    range.name = b.name;
    range.address = address;
    range.bytes = bytes;
    range.readOnly = b.readOnly;
    arguments.push_back(Argument::buffer(range));
    addresses.push_back(address);
  }
  LaunchConfig config;
  std::memcpy(config.grid, setup.grid, sizeof config.grid);
  std::memcpy(config.block, setup.block, sizeof config.block);
  config.sharedBytes = setup.shared - options.sharedLess;
  config.cooperative = setup.cooperative;
  config.seed = options.seed;
  config.threads = options.threads;
  config.budget = options.budget;
  config.perLine = options.perLine;
  Outcome outcome;
  outcome.result = launch(module, setup.kernel, memory, arguments, config);
  for (size_t i = 0; i < setup.arguments.size(); ++i) {
    const Buffer &b = setup.arguments[i];
    if (!b.isOutput)
      continue;
    uint64_t bytes = b.bytes - (options.shrunk == (int)i ? b.elementBytes : 0);
    std::vector<uint8_t> content(bytes);
    memory.read(addresses[i], content.data(), bytes);
    outcome.outputs.push_back(std::move(content));
  }
  return outcome;
}

float halfValue(uint16_t bits) {
  int e = bits >> 10 & 31;
  float m = (float)(bits & 1023);
  float v = e == 0    ? std::ldexp(m, -24)
            : e == 31 ? (m == 0 ? INFINITY : NAN)
                      : std::ldexp(m + 1024, e - 25);
  return bits & 0x8000 ? -v : v;
}

uint16_t halfBits(float value) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  float m = std::fabs(value);
  if (m == 0)
    return sign;
  int e;
  float f = std::frexp(m, &e); // in [1/2, 1)
  return (uint16_t)(sign | (e + 14) << 10 | ((uint32_t)(f * 2048.0f) & 1023));
}

double element(const Buffer &buffer, const std::vector<uint8_t> &bytes,
               size_t i) {
  const uint8_t *p = bytes.data() + i * buffer.elementBytes;
  uint64_t bits = 0;
  std::memcpy(&bits, p, buffer.elementBytes);
  switch (buffer.floatKind) {
  case 'f': {
    float f;
    std::memcpy(&f, p, 4);
    return f;
  }
  case 'd': {
    double d;
    std::memcpy(&d, p, 8);
    return d;
  }
  case 'h':
    return halfValue((uint16_t)bits);
  case 'b':
    return bfloatValue((uint16_t)bits);
  default:
    return (double)bits;
  }
}

bool same(const Buffer &buffer, const std::vector<uint8_t> &expected,
          const std::vector<uint8_t> &got, std::string *why) {
  size_t n = expected.size() / buffer.elementBytes;
  if (expected.size() != got.size()) {
    if (why)
      *why = "another size";
    return false;
  }
  double largest = 0;
  if (buffer.floatKind)
    for (size_t i = 0; i < n; ++i)
      largest = std::max(largest, std::fabs(element(buffer, expected, i)));
  for (size_t i = 0; i < n; ++i) {
    const uint8_t *a = expected.data() + i * buffer.elementBytes;
    const uint8_t *b = got.data() + i * buffer.elementBytes;
    if (std::memcmp(a, b, buffer.elementBytes) == 0)
      continue;
    double x = element(buffer, expected, i), y = element(buffer, got, i);
    if (buffer.floatKind && std::fabs(x - y) <= buffer.tolerance * largest)
      continue;
    if (why) {
      std::ostringstream o;
      o.precision(9);
      o << buffer.name << "[" << i << "] is " << y << ", must be " << x;
      *why = o.str();
    }
    return false;
  }
  return true;
}

std::string readFile(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<float> numbers(size_t count, uint64_t seed, float range) {
  std::vector<float> out(count);
  uint64_t x = seed * 0x9E3779B97F4A7C15ull + 1;
  for (float &f : out) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    int64_t steps = (int64_t)(range * 128);
    f = (float)((int64_t)(x % (uint64_t)steps) - steps / 2) / 64.0f;
  }
  return out;
}

} // namespace lockstitch::simtest
