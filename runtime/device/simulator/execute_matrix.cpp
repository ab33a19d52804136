//===- execute_matrix.cpp - mma.sync and ldmatrix -------------------------===//
//
// The fragments of m16n8kK: with group g = lane / 4 and thread t = lane % 4,
//
//   A (16 x K)  register r holds rows g (r even) or g + 8 (r odd), and columns
//               of the first (r < 2) or second half of K, 32 bits: one tf32 or
//               two halves, at t (tf32) or 2 t and 2 t + 1.
//   B (K x 8)   register r: column g, rows t (+ 4 r) or 2 t, 2 t + 1 (+ 8 r).
//   C, D        rows g and g + 8, columns 2 t and 2 t + 1.
//
// Products are exact in f32 accumulation order k = 0, 1, ...: the manual asks
// for at least that precision and leaves the order open.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/simulator/execute_memory.h"
#include "runtime/device/simulator/half.h"
#include "runtime/device/simulator/handlers.h"

#include <cmath>

namespace lockstitch::simulator {

namespace {

enum Format { F16, BF16, TF32 };

template <Format F> float element(uint32_t reg, unsigned half) {
  if constexpr (F == TF32)
    return floatOf(reg & ~0x1FFFu); // the low 13 bits do not count
  uint16_t bits = (uint16_t)(reg >> (16 * half));
  return F == F16 ? toFloat(Half{bits}) : toFloat(BFloat{bits});
}

template <Format F, unsigned K, bool HalfC, bool HalfD>
void multiply(const Op &o, Warp &w) {
  constexpr unsigned PerReg = F == TF32 ? 1 : 2;
  constexpr unsigned RegsA = 16 * K / 32 / PerReg, RegsB = 8 * K / 32 / PerReg;
  constexpr unsigned RegsD = HalfD ? 2 : 4;
  const std::vector<Slot> &list = w.worker->launch->program->lists[o.list];
  const Slot *d = list.data(), *sa = d + RegsD, *sb = sa + RegsA,
             *sc = sb + RegsB;
  if (w.mask != ~0u) {
    report(w, o, FindingKind::Shuffle, (unsigned)__builtin_ctz(w.mask),
           "mma.sync without all 32 lanes of the warp");
    return;
  }
  float a[16][K], b[K][8], c[16][8];
  constexpr unsigned PairK = K / (RegsA / 2); // columns per two registers
  for (unsigned lane = 0; lane < 32; ++lane) {
    unsigned g = lane / 4, t = lane % 4;
    for (unsigned r = 0; r < RegsA; ++r)
      for (unsigned h = 0; h < PerReg; ++h)
        a[g + 8 * (r % 2)][t * PerReg + h + PairK * (r / 2)] =
            element<F>(w.src<uint32_t>(sa[r])[lane], h);
    for (unsigned r = 0; r < RegsB; ++r)
      for (unsigned h = 0; h < PerReg; ++h)
        b[t * PerReg + h + 4 * PerReg * r][g] =
            element<F>(w.src<uint32_t>(sb[r])[lane], h);
    for (unsigned i = 0; i < 4; ++i) {
      float value =
          HalfC ? toFloat(Half{(uint16_t)(w.src<uint32_t>(sc[i / 2])[lane] >>
                                          (16 * (i % 2)))})
                : floatOf(w.src<uint32_t>(sc[HalfC ? 0 : i])[lane]);
      c[g + 8 * (i / 2)][2 * t + i % 2] = value;
    }
  }
  for (unsigned row = 0; row < 16; ++row)
    for (unsigned col = 0; col < 8; ++col) {
      float sum = c[row][col];
      for (unsigned k = 0; k < K; ++k)
        sum = std::fma(a[row][k], b[k][col], sum);
      c[row][col] = sum != sum ? floatOf(0x7FFFFFFFu) : sum;
    }
  for (unsigned lane = 0; lane < 32; ++lane) {
    unsigned g = lane / 4, t = lane % 4;
    for (unsigned i = 0; i < 4; ++i) {
      float value = c[g + 8 * (i / 2)][2 * t + i % 2];
      if (HalfD) {
        uint32_t &reg = w.dst<uint32_t>(d[i / 2])[lane];
        uint32_t bits = halfOf(value).bits;
        reg = i % 2 ? (reg & 0xFFFFu) | bits << 16 : (reg & 0xFFFF0000u) | bits;
      } else {
        w.dst<uint32_t>(d[HalfD ? 0 : i])[lane] = bitsOf(value);
      }
    }
  }
}

void loadMatrix(const Op &o, Warp &w) {
  const MemoryAccess &m = *o.memory;
  unsigned count = o.mode;
  if (w.mask != ~0u) {
    report(w, o, FindingKind::Shuffle, (unsigned)__builtin_ctz(w.mask),
           "ldmatrix.sync without all 32 lanes of the warp");
    return;
  }
  uint64_t addresses[32];
  computeAddresses(o, w, o.a, m.wideAddress, o.imm, addresses);
  for (uint64_t &a : addresses)
    if (a >> 32 == SharedWindow >> 32)
      a -= SharedWindow;
  // Lanes 8 j to 8 j + 7 give the rows of matrix j.
  uint32_t rows = count == 4 ? ~0u : (1u << (8 * count)) - 1;
  LaneData data;
  slowShared(w, o, addresses, rows, true, 16, data);
  for (unsigned j = 0; j < count; ++j) {
    if (m.slots[j] == NoSlot)
      continue;
    uint32_t *d = w.dst<uint32_t>(m.slots[j]);
    for (unsigned lane = 0; lane < 32; ++lane) {
      uint32_t value = 0;
      for (unsigned h = 0; h < 2; ++h) {
        unsigned row = o.flags & 1 ? 2 * (lane % 4) + h : lane / 4;
        unsigned col = o.flags & 1 ? lane / 4 : 2 * (lane % 4) + h;
        uint16_t bits;
        std::memcpy(&bits, data.bytes[8 * j + row] + 2 * col, 2);
        value |= (uint32_t)bits << (16 * h);
      }
      d[lane] = value;
    }
  }
}

template <Format F, unsigned K>
Handler withTypes(ScalarType d, ScalarType c, unsigned counts[4]) {
  constexpr unsigned PerReg = F == TF32 ? 1 : 2;
  counts[1] = 16 * K / 32 / PerReg;
  counts[2] = 8 * K / 32 / PerReg;
  counts[0] = d == ScalarType::F16 ? 2 : 4;
  counts[3] = c == ScalarType::F16 ? 2 : 4;
  if (d == ScalarType::F32 && c == ScalarType::F32)
    return multiply<F, K, false, false>;
  if constexpr (F == F16) {
    if (d == ScalarType::F16 && c == ScalarType::F16)
      return multiply<F, K, true, true>;
    if (d == ScalarType::F32 && c == ScalarType::F16)
      return multiply<F, K, true, false>;
    if (d == ScalarType::F16 && c == ScalarType::F32)
      return multiply<F, K, false, true>;
  }
  return nullptr;
}

} // namespace

Handler matrixHandler(std::string_view shape, ScalarType d, ScalarType a,
                      ScalarType b, ScalarType c, unsigned counts[4]) {
  if (a != b)
    return nullptr;
  bool k16 = shape == "m16n8k16", k8 = shape == "m16n8k8",
       k4 = shape == "m16n8k4";
  if (a == ScalarType::F16 && k16)
    return withTypes<F16, 16>(d, c, counts);
  if (a == ScalarType::F16 && k8)
    return withTypes<F16, 8>(d, c, counts);
  if (a == ScalarType::BF16 && k16)
    return withTypes<BF16, 16>(d, c, counts);
  if (a == ScalarType::BF16 && k8)
    return withTypes<BF16, 8>(d, c, counts);
  if (a == ScalarType::TF32 && k8)
    return withTypes<TF32, 8>(d, c, counts);
  if (a == ScalarType::TF32 && k4)
    return withTypes<TF32, 4>(d, c, counts);
  return nullptr;
}

Handler loadMatrixHandler() { return loadMatrix; }

} // namespace lockstitch::simulator
