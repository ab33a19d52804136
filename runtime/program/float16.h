// Conversions between f32/f64 and the 16-bit floating-point types, correctly
// rounded (to nearest, ties to even), done in integers so that they are the
// same on every machine. NaN stays NaN (quiet); bf16 NaN is canonical 0x7fff
// like the GPU's.
#ifndef LOCKSTITCH_RUNTIME_PROGRAM_FLOAT16_H
#define LOCKSTITCH_RUNTIME_PROGRAM_FLOAT16_H

#include <cstdint>

namespace lockstitch {

float halfToFloat(uint16_t half);
uint16_t floatToHalf(float value);
/// Rounds once, directly from f64.
uint16_t doubleToHalf(double value);

float bfloat16ToFloat(uint16_t bfloat16);
uint16_t floatToBFloat16(float value);
/// Rounds once, directly from f64.
uint16_t doubleToBFloat16(double value);

} // namespace lockstitch

#endif // LOCKSTITCH_RUNTIME_PROGRAM_FLOAT16_H
