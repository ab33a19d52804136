//===- kernel_setup.h - a launch that can be repeated -----------*- C++ -*-===//
//
// A Setup is a kernel's launch with all of its data: run() makes a fresh
// memory, launches, and gives back the findings and what the outputs hold.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/simulator/simulator.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace lockstitch::simtest {

using namespace simulator;

struct Buffer {
  std::string name;
  uint64_t bytes = 0;
  unsigned elementBytes = 4;
  std::vector<uint8_t> content; // empty: not initialised
  bool isScalar = false;        // the content is the argument itself
  bool readOnly = false;
  /// Outputs are compared after the launch: bit by bit, or as f32, f16 or bf16
  /// with a tolerance relative to the largest expected value.
  bool isOutput = false;
  char floatKind = 0; // 'f', 'h', 'b', 'd'
  double tolerance = 0;
};

struct Setup {
  std::string kernel;
  uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  uint32_t shared = 0;
  bool cooperative = false;
  std::vector<Buffer> arguments;

  Setup(std::string name, uint32_t gx, uint32_t bx) : kernel(std::move(name)) {
    grid[0] = gx;
    block[0] = bx;
  }
  template <class T> Setup &in(const char *name, const std::vector<T> &values) {
    Buffer b;
    b.name = name;
    b.bytes = values.size() * sizeof(T);
    b.elementBytes = sizeof(T);
    b.content.resize(b.bytes);
    std::memcpy(b.content.data(), values.data(), b.bytes);
    arguments.push_back(b);
    return *this;
  }
  /// An input that the kernel may not write.
  template <class T>
  Setup &constant(const char *name, const std::vector<T> &values) {
    in(name, values);
    arguments.back().readOnly = true;
    return *this;
  }
  template <class T> Setup &out(const char *name, size_t count) {
    Buffer b;
    b.name = name;
    b.bytes = count * sizeof(T);
    b.elementBytes = sizeof(T);
    b.isOutput = true;
    arguments.push_back(b);
    return *this;
  }
  template <class T>
  Setup &inout(const char *name, const std::vector<T> &values) {
    in(name, values);
    arguments.back().isOutput = true;
    return *this;
  }
  /// Of the last argument.
  Setup &as(char kind, double tolerance) {
    arguments.back().floatKind = kind;
    arguments.back().tolerance = tolerance;
    return *this;
  }
  template <class T> Setup &scalar(const T &value) {
    Buffer b;
    b.isScalar = true;
    b.bytes = sizeof(T);
    b.content.resize(sizeof(T));
    std::memcpy(b.content.data(), &value, sizeof(T));
    arguments.push_back(b);
    return *this;
  }
};

struct Options {
  uint64_t seed = 0;
  unsigned threads = 1;
  uint64_t budget = uint64_t(1) << 24;
  bool perLine = false;
  int shrunk = -1; // argument whose allocation lacks its last element
  uint32_t sharedLess = 0;
};

struct Outcome {
  LaunchResult result;
  std::vector<std::vector<uint8_t>> outputs; // of those arguments, in order
};

Outcome run(const Module &module, const Setup &setup,
            const Options &options = {});

/// Element \p i of an output, as a number.
double element(const Buffer &buffer, const std::vector<uint8_t> &bytes,
               size_t i);
/// Whether two contents of an output are equal within its tolerance; else the
/// first difference is in \p why.
bool same(const Buffer &buffer, const std::vector<uint8_t> &expected,
          const std::vector<uint8_t> &got, std::string *why = nullptr);

std::string readFile(const std::string &path);

float halfValue(uint16_t bits);
uint16_t halfBits(float value); // for values that f16 holds exactly
inline float bfloatValue(uint16_t bits) {
  uint32_t u = (uint32_t)bits << 16;
  float f;
  std::memcpy(&f, &u, 4);
  return f;
}
inline uint16_t bfloatBits(float value) { // exact values
  uint32_t u;
  std::memcpy(&u, &value, 4);
  return (uint16_t)(u >> 16);
}

/// Small deterministic numbers: multiples of 1/64 in [-range, range).
std::vector<float> numbers(size_t count, uint64_t seed, float range = 4);

} // namespace lockstitch::simtest
