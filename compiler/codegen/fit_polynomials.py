#!/usr/bin/env python3
"""Fits the polynomials of math_functions.cpp and prints them as C++ arrays. Needs mpmath.

Each is a least-squares fit at Chebyshev nodes (close to minimax, and it never fails to converge), in 60 digits, on the
interval that the range reduction leaves, with the weight that makes the error of the *function* level. Coefficients are
then rounded to the type one after the other, lowest first, the rest being fitted again each time, so that rounding costs
little.
"""
import mpmath as mp

mp.mp.dps = 90


def least_squares(f, weight, powers, low, high):
    low, high = mp.mpf(low), mp.mpf(high)
    count = 12 * len(powers) + 1
    points = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * count)) for i in range(count)]
    n = len(powers)
    normal, right = mp.matrix(n, n), mp.matrix(n, 1)
    for x in points:
        row, w, y = [x**p for p in powers], weight(x) ** 2, f(x)
        for i in range(n):
            right[i] += w * row[i] * y
            for j in range(n):
                normal[i, j] += w * row[i] * row[j]
    result = mp.lu_solve(normal, right)
    return [result[i] for i in range(n)]


def rounded(value, bits):
    with mp.workprec(bits):
        return +value


def fit(name, f, weight, powers, low, high, bits):
    fixed, left = [], list(powers)
    while left:
        rest = lambda x: f(x) - sum(a * x**p for a, p in zip(fixed, powers))
        fixed.append(rounded(least_squares(rest, weight, left, low, high)[0], bits))
        left = left[1:]
    worst = mp.mpf(0)
    for i in range(2001):
        x = mp.mpf(low) + (mp.mpf(high) - mp.mpf(low)) * i / 2000
        worst = max(worst, abs((sum(a * x**p for a, p in zip(fixed, powers)) - f(x)) * weight(x)))
    digits = 9 if bits == 24 else 17
    print(f"// error 2^{mp.nstr(mp.log(worst, 2), 4)} relative to the value, before rounding")
    print(f"constexpr double {name}[] = {{" + ", ".join(mp.nstr(c, digits, min_fixed=0, max_fixed=0) for c in fixed) + "};")


def near(f, limit_at_zero):
    """f, with its limit where it divides 0 by 0."""
    return lambda x: limit_at_zero if abs(x) < mp.mpf(10) ** -25 else f(x)


H = mp.mpf(1) / 2
LN2_2 = mp.log(2) / 2 * mp.mpf("1.0005")
PI_4 = mp.pi / 4 * mp.mpf("1.0005")
LOG_LOW, LOG_HIGH = mp.sqrt(H) - 1, mp.sqrt(2) - 1
S_MAX = (mp.sqrt(2) - 1) / (mp.sqrt(2) + 1) * mp.mpf("1.0005")

for type_, bits, degrees in (("F32", 24, dict(exp=5, log=9, sin=4, cos=3, tanh=5, erf=7, erfc=8)),
                             ("F64", 53, dict(exp=11, log=8, sin=7, cos=7, tanh=12, erf=15, erfc=20))):
    # exp(r) = 1 + r + r^2 * P(r)
    fit(f"kExp{type_}", near(lambda r: (mp.exp(r) - 1 - r) / r**2, H), lambda r: r * r / mp.exp(r),
        range(degrees["exp"]), -LN2_2, LN2_2, bits)
    if type_ == "F32":  # log(1 + f) = f - f^2/2 + f^3 * P(f)
        third = mp.mpf(1) / 3
        fit(f"kLog{type_}", near(lambda f: (mp.log1p(f) - f + f * f / 2) / f**3, third),
            lambda f: f**3 / (mp.log1p(f) if abs(f) > mp.mpf(10) ** -25 else 1), range(degrees["log"]), LOG_LOW, LOG_HIGH, bits)
    else:  # log((1+s)/(1-s)) = 2*s + s^3 * P(s^2), in z = s^2
        fit(f"kLog{type_}", near(lambda z: (2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 2) / z, mp.mpf(2) / 3),
            lambda z: z / 2, range(degrees["log"]), 0, S_MAX**2, bits)
    # sin(r) = r + r^3 * P(r^2);  cos(r) = 1 - r^2/2 + r^4 * P(r^2), in z = r^2
    fit(f"kSin{type_}", near(lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, -mp.mpf(1) / 6), lambda z: z,
        range(degrees["sin"]), 0, PI_4**2, bits)
    fit(f"kCos{type_}", near(lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2, mp.mpf(1) / 24), lambda z: z * z,
        range(degrees["cos"]), 0, PI_4**2, bits)
    # tanh(x) = x + x^3 * P(x^2) for small |x|
    limit = mp.mpf("0.625") if type_ == "F32" else H
    fit(f"kTanh{type_}", near(lambda z: (mp.tanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, -mp.mpf(1) / 3), lambda z: z,
        range(degrees["tanh"]), 0, limit**2, bits)
    # erf(x) = x + x * P(x^2) for |x| <= 1
    fit(f"kErf{type_}", near(lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1, 2 / mp.sqrt(mp.pi) - 1), lambda z: mp.mpf(1),
        range(degrees["erf"]), 0, 1, bits)
    # erf(x) = 1 - exp(P(u)), u = x - middle, for 1 <= x <= end: P = log(erfc); what counts is the error of erf.
    end, middle = (4, mp.mpf("2.5")) if type_ == "F32" else (6, mp.mpf("3.5"))
    fit(f"kErfc{type_}", lambda u: mp.log(mp.erfc(u + middle)), lambda u: mp.erfc(u + middle),
        range(degrees["erfc"]), 1 - middle, end - middle, bits)

print("// 2/pi in words of 32 bits, most significant first")
two_over_pi = int(mp.floor(2 / mp.pi * mp.mpf(2) ** 224))
print("constexpr uint32_t kTwoOverPi[] = {" + ", ".join(f"0x{two_over_pi >> (192 - 32 * i) & 0xffffffff:08x}" for i in range(7)) + "};")
for bits in (24, 53):
    rest, parts = mp.pi / 2, []
    for _ in range(3):
        parts.append(rounded(rest, bits))
        rest -= parts[-1]
    print(f"// pi/2 in parts of {bits} bits:", ", ".join(mp.nstr(p, 20) for p in parts))
rest = mp.log(2)
high = mp.floor(rest * 2**15) / 2**15
print("// ln2, 15 bits and the rest:", mp.nstr(high, 20), mp.nstr(rounded(rest - high, 24), 12))
high = mp.floor(rest * 2**32) / 2**32
print("// ln2, 32 bits and the rest:", mp.nstr(high, 20), mp.nstr(rounded(rest - high, 53), 20))
