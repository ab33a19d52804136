// Printed by fit_polynomials.py: change that, not this. Coefficients from the
// lowest power on; F32 ones are exact in f32.
#ifndef LOCKSTITCH_COMPILER_CODEGEN_MATH_COEFFICIENTS_H
#define LOCKSTITCH_COMPILER_CODEGEN_MATH_COEFFICIENTS_H

#include <cstdint>

namespace lockstitch::codegen {

// error 2^-28.01 relative to the value, before rounding
constexpr double kExpF32[] = {4.99999881e-1, 1.66665182e-1, 4.16696519e-2,
                              8.36895313e-3, 1.37450593e-3};
// error 2^-30.06 relative to the value, before rounding
constexpr double kLogF32[] = {3.33333105e-1,  -2.50000149e-1, 2.00022265e-1,
                              -1.66677266e-1, 1.4217563e-1,   -1.24097466e-1,
                              1.19054131e-1,  -1.16551459e-1, 6.68415576e-2};
// error 2^-32.3 relative to the value, before rounding
constexpr double kSinF32[] = {-1.66666672e-1, 8.33337288e-3, -1.98502996e-4,
                              2.80444374e-6};
// error 2^-33.1 relative to the value, before rounding
constexpr double kCosF32[] = {4.16666456e-2, -1.3887313e-3, 2.44329585e-5};
// error 2^-27.72 relative to the value, before rounding
constexpr double kTanhF32[] = {-3.33332807e-1, 1.33314192e-1, -5.37382923e-2,
                               2.06354298e-2, -5.70163503e-3};
// error 2^-29.54 relative to the value, before rounding
constexpr double kErfF32[] = {1.28379166e-1,  -3.76126289e-1, 1.12836182e-1,
                              -2.68551242e-2, 5.1907259e-3,   -8.03065428e-4,
                              7.91990169e-5};
// error 2^-33.85 relative to the value, before rounding
constexpr double kErfcF32[] = {-7.80681515,    -5.35267973,   -9.43890512e-1,
                               -1.08543569e-2, 2.16211192e-3, -4.35754191e-4,
                               5.9518301e-5,   -2.20994662e-5};
// error 2^-63.48 relative to the value, before rounding
constexpr double kExpF64[] = {5.0e-1,
                              1.6666666666666685e-1,
                              4.1666666666666526e-2,
                              8.3333333333159825e-3,
                              1.388888888896801e-3,
                              1.9841269898562968e-4,
                              2.4801587155285189e-5,
                              2.7557232976642465e-6,
                              2.7557417605612708e-7,
                              2.5112619611214332e-8,
                              2.0871119067019774e-9};
// error 2^-66.56 relative to the value, before rounding
constexpr double kLogF64[] = {6.6666666666666663e-1, 4.0000000000004904e-1,
                              2.8571428569418028e-1, 2.2222222606077471e-1,
                              1.8181778410269706e-1, 1.538698717786246e-1,
                              1.3252170554844206e-1, 1.3234698627140359e-1};
// error 2^-62.89 relative to the value, before rounding
constexpr double kSinF64[] = {-1.6666666666666666e-1, 8.3333333333330973e-3,
                              -1.9841269841051811e-4, 2.7557319126292835e-6,
                              -2.5052085182129745e-8, 1.605614962230654e-10,
                              -7.4800776205939908e-13};
// error 2^-68.69 relative to the value, before rounding
constexpr double kCosF64[] = {4.1666666666666664e-2, -1.3888888888888434e-3,
                              2.4801587301242119e-5, -2.7557319091974888e-7,
                              2.0876729659924839e-9, -1.1467764607414256e-11,
                              4.6340498940017471e-14};
// error 2^-64.72 relative to the value, before rounding
constexpr double kTanhF64[] = {
    -3.3333333333333331e-1, 1.3333333333332995e-1,  -5.3968253968017486e-2,
    2.1869488527441781e-2,  -8.8632353354431113e-3, 3.592125209506429e-3,
    -1.4558065085550451e-3, 5.8983722619296958e-4,  -2.3822796416127115e-4,
    9.3988313422220735e-5,  -3.2968810727723067e-5, 7.4293384103218704e-6};
// error 2^-56.16 relative to the value, before rounding
constexpr double kErfF64[] = {
    1.2837916709551259e-1,  -3.7612638903183926e-1,  1.1283791670962331e-1,
    -2.6866170646530251e-2, 5.2239776408241397e-3,   -8.5483280858566384e-4,
    1.2055382003734715e-4,  -1.4927218749237626e-5,  1.6497627874227436e-6,
    -1.6938959992369534e-7, 2.1356149915259751e-8,   -6.4053124605701147e-9,
    2.7853692149447329e-9,  -8.3449494108242432e-10, 1.1452266563336482e-10};
// error 2^-61.65 relative to the value, before rounding
constexpr double kErfcF64[] = {
    -1.4112437402148355e+1,  -7.2660995883678847,     -9.6675305474717155e-1,
    -5.225658177858388e-3,   8.7368753407651408e-4,   -1.4729750329825402e-4,
    2.4386077201190576e-5,   -3.8908927460119415e-6,  5.840678240921194e-7,
    -8.0900095997198631e-8,  1.0958750606258428e-8,   9.6772510368424261e-10,
    8.1209652267765563e-10,  -4.7143159259955543e-11, -3.7370332403982248e-10,
    -2.4579830514327504e-10, -9.3892887852124907e-11, -2.1550539996324265e-11,
    -2.9184410733978397e-12, -1.776275803582173e-13};
// 2/pi in words of 32 bits, most significant first
constexpr uint32_t kTwoOverPi[] = {0xa2f9836e, 0x4e441529, 0xfc2757d1,
                                   0xf534ddc0, 0xdb629599, 0x3c439041,
                                   0xfe5163ab};

} // namespace lockstitch::codegen

#endif // LOCKSTITCH_COMPILER_CODEGEN_MATH_COEFFICIENTS_H
