#!/usr/bin/env python3
"""Writes float_exact.ptxtest: floating-point programs whose results are worked
out here with exact fractions and one rounding, as the PTX manual defines them.

Nothing here looks at the simulator. Run it after a change and check the file
in: `python3 make_float_cases.py > float_exact.ptxtest`. With `--check FILE` it
compares instead (the test does that).
"""
import math
import random
import sys
from fractions import Fraction as F


class Format:
    def __init__(self, name, width, mantissa, emin, emax):
        self.name, self.width, self.m = name, width, mantissa
        self.emin, self.emax = emin, emax
        self.sign = 1 << (width - 1)
        self.inf = (emax - emin + 2) << mantissa
        self.canonical = {"f64": None}.get(name, (1 << (width - 1)) - 1)

    def isnan(self, b):
        return (b & ~self.sign) > self.inf

    def isinf(self, b):
        return (b & ~self.sign) == self.inf

    def finite(self, b):
        return (b & ~self.sign) < self.inf

    def value(self, b):
        s = -1 if b & self.sign else 1
        b &= ~self.sign
        e, f = b >> self.m, b & ((1 << self.m) - 1)
        if e == 0:
            return s * F(f) * F(2) ** (self.emin - self.m)
        return s * (F(1) + F(f, 1 << self.m)) * F(2) ** (e - 1 + self.emin)

    def flush(self, b):
        return b & self.sign if (b & ~self.sign) >> self.m == 0 else b

    def round(self, x, mode="rn", zero=0):
        """Bits of the exact number x, rounded once; `zero` is the sign bit of
        an exact zero."""
        if x == 0:
            return zero
        s = self.sign if x < 0 else 0
        m = abs(x)
        e = self.emin
        # floor(log2 m), but not below emin.
        guess = m.numerator.bit_length() - m.denominator.bit_length()
        for c in (guess + 1, guess, guess - 1):
            if m >= F(2) ** c:
                e = max(self.emin, c)
                break
        unit = F(2) ** (e - self.m)
        q = m / unit
        n = q.numerator // q.denominator
        rest = q - n
        up = {"rn": rest > F(1, 2) or (rest == F(1, 2) and n & 1),
              "rz": False, "rm": bool(s) and rest > 0,
              "rp": not s and rest > 0,
              "rna": rest >= F(1, 2)}[mode]
        n += up
        if n >= 2 << self.m:
            n >>= 1
            e += 1
        if e > self.emax:
            to_max = mode == "rz" or (mode == "rm" and not s) or \
                (mode == "rp" and s)
            return s | (self.inf - 1 if to_max else self.inf)
        if n < 1 << self.m:
            return s | n  # denormal (e == emin)
        return s | ((e - self.emin) << self.m) + n

    def hex(self, b):
        return "nan" if b is None else "0x%0*X" % (self.width // 4, b)


f16 = Format("f16", 16, 10, -14, 15)
bf16 = Format("bf16", 16, 7, -126, 127)
f32 = Format("f32", 32, 23, -126, 127)
f64 = Format("f64", 64, 52, -1022, 1023)

rng = random.Random(20240)


def edge(fmt):
    one = fmt.round(F(1))
    s = fmt.sign
    return [0, s, one, one | s, one + 1, one - 1, fmt.inf, fmt.inf | s,
            fmt.inf | 1, fmt.inf - 1, (fmt.inf - 1) | s, 1, s | 1,
            1 << fmt.m, (1 << fmt.m) - 1, fmt.round(F(3, 2)),
            fmt.round(F(1, 3)), fmt.round(F(-2, 3))]


def any_bits(fmt):
    """A number; exponents crowd around 0 so that sums interact."""
    e0 = -fmt.emin + 1
    e = e0 + rng.randint(-fmt.m - 4, fmt.m + 4) if rng.random() < .8 else \
        rng.randint(0, fmt.emax - fmt.emin + 1)
    e = min(max(e, 0), fmt.emax - fmt.emin + 1)
    # Few mantissa bits make ties likely.
    f = rng.getrandbits(fmt.m)
    if rng.random() < .5:
        f &= ~((1 << rng.randint(0, fmt.m)) - 1)
    return rng.getrandbits(1) * fmt.sign | e << fmt.m | f


def operands(fmt, n, count):
    """n operands for each of count threads: edges against edges first."""
    e = edge(fmt)
    rows = []
    for i in range(count // 2):
        rows.append([e[(i * (7 * k + 1) + 3 * k) % len(e)] for k in range(n)])
    while len(rows) < count:
        rows.append([any_bits(fmt) for _ in range(n)])
    return [list(col) for col in zip(*rows)]


# --- what the instructions mean ---------------------------------------------

def zero_sum_sign(fmt, a, b, mode):
    if (a & fmt.sign) == (b & fmt.sign) and not (fmt.value(a) or fmt.value(b)):
        return a & fmt.sign
    return fmt.sign if mode == "rm" else 0


def add(fmt, a, b, mode="rn"):
    if fmt.isnan(a) or fmt.isnan(b):
        return fmt.canonical
    if fmt.isinf(a):
        return fmt.canonical if fmt.isinf(b) and a != b else a
    if fmt.isinf(b):
        return b
    return fmt.round(fmt.value(a) + fmt.value(b), mode,
                     zero_sum_sign(fmt, a, b, mode))


def sub(fmt, a, b, mode="rn"):
    return add(fmt, a, b if fmt.isnan(b) else b ^ fmt.sign, mode)


def mul(fmt, a, b, mode="rn"):
    s = (a ^ b) & fmt.sign
    if fmt.isnan(a) or fmt.isnan(b):
        return fmt.canonical
    if fmt.isinf(a) or fmt.isinf(b):
        other = b if fmt.isinf(a) else a
        zero = fmt.finite(other) and fmt.value(other) == 0
        return fmt.canonical if zero else s | fmt.inf
    return fmt.round(fmt.value(a) * fmt.value(b), mode, s)


def fma(fmt, a, b, c, mode="rn"):
    if fmt.isnan(a) or fmt.isnan(b) or fmt.isnan(c):
        return fmt.canonical
    s = (a ^ b) & fmt.sign
    if fmt.isinf(a) or fmt.isinf(b):
        other = b if fmt.isinf(a) else a
        if fmt.finite(other) and fmt.value(other) == 0:
            return fmt.canonical
        if fmt.isinf(c) and (c & fmt.sign) != s:
            return fmt.canonical
        return s | fmt.inf
    if fmt.isinf(c):
        return c
    p, v = fmt.value(a) * fmt.value(b), fmt.value(c)
    zero = 0
    if p + v == 0:
        if p == 0 and v == 0 and s == (c & fmt.sign):
            zero = s
        else:
            zero = fmt.sign if mode == "rm" else 0
    return fmt.round(p + v, mode, zero)


def div(fmt, a, b, mode="rn"):
    s = (a ^ b) & fmt.sign
    if fmt.isnan(a) or fmt.isnan(b) or (fmt.isinf(a) and fmt.isinf(b)):
        return fmt.canonical
    if fmt.isinf(a):
        return s | fmt.inf
    if fmt.isinf(b):
        return s
    if fmt.value(b) == 0:
        return fmt.canonical if fmt.value(a) == 0 else s | fmt.inf
    return fmt.round(fmt.value(a) / fmt.value(b), mode, s)


def sqrt(fmt, a, mode="rn"):
    if fmt.isnan(a) or (a & fmt.sign and fmt.value(a) != 0):
        return fmt.canonical
    if fmt.isinf(a) or fmt.value(a) == 0:
        return a
    v = fmt.value(a)
    k = 1400
    # floor(sqrt(v) * 2^k), and a sticky bit below it.
    n = v.numerator << (2 * k)
    root = math.isqrt(n // v.denominator)
    exact = root * root * v.denominator == n
    x = F(2 * root + (0 if exact else 1), 2 << k)
    return fmt.round(x, mode)


def minmax(fmt, a, b, largest, nan=False, xorsign=False):
    s = (a ^ b) & fmt.sign
    if xorsign:
        a, b = a & ~fmt.sign, b & ~fmt.sign
    if fmt.isnan(a) or fmt.isnan(b):
        if nan or (fmt.isnan(a) and fmt.isnan(b)):
            return fmt.canonical
        r = b if fmt.isnan(a) else a
    else:
        def order(x):
            return -(x & ~fmt.sign) - 1 if x & fmt.sign else x
        r = max(a, b, key=order) if largest else min(a, b, key=order)
    return (r & ~fmt.sign) | s if xorsign else r


def saturate(fmt, b):
    if b is None or fmt.isnan(b):
        return 0
    if b & fmt.sign:
        return 0
    one = fmt.round(F(1))
    return min(b, one)


def relu(fmt, b):
    if fmt.isnan(b):
        return fmt.canonical
    return 0 if b & fmt.sign else b


def to_integer(fmt, a, bits, signed, how, ftz=False):
    if ftz:
        a = fmt.flush(a)
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else \
        (0, (1 << bits) - 1)
    if fmt.isnan(a):
        return 0
    if fmt.isinf(a):
        v = low if a & fmt.sign else high
    else:
        v = integral(fmt.value(a), how)
        v = min(max(v, low), high)
    return v & ((1 << bits) - 1)


def integral(x, how):
    n = math.floor(x)
    rest = x - n
    if how == "rmi":
        return n
    if how == "rpi":
        return n + (rest > 0)
    if how == "rzi":
        return n + (rest > 0 and x < 0)
    return n + (rest > F(1, 2) or (rest == F(1, 2) and n & 1))


def convert(src, dst, a, mode="rn"):
    if src.isnan(a):
        return dst.canonical
    s = dst.sign if a & src.sign else 0
    if src.isinf(a):
        return s | dst.inf
    return dst.round(src.value(a), mode, s)


# --- writing ------------------------------------------------------------------

lines = []
names = set()


def case(name, rule, ins, code, outs, extra=()):
    assert name not in names, name
    names.add(name)
    lines.append("case " + name)
    lines.append("rule: " + rule)
    lines.extend(extra)

    def data(key, reg, typ, values):
        text = ["%s %s %s:" % (key, reg, typ)]
        for v in values:
            if len(text[-1]) + 1 + len(v) > 100:
                text.append(" ")
            text[-1] += " " + v
        lines.extend(text)
    for reg, typ, values in ins:
        data("in", reg, typ, values)
    lines.append("code:")
    lines.extend("  " + c for c in code)
    for reg, typ, values in outs:
        data("out", reg, typ, values)
    lines.append("")


def bits_of(fmt):
    return "b%d" % fmt.width


def numbers(fmt, values):
    return [fmt.hex(v) for v in values]


REG = "abc"
COUNT = 36


def arithmetic(fmt, op, n, forms, count=COUNT, rule="", extra=()):
    """forms: (spelling, function of operands, what it shows)."""
    cols = operands(fmt, n, count)
    ins = [("%" + REG[k], bits_of(fmt), numbers(fmt, cols[k]))
           for k in range(n)]
    for spelling, function, shows in forms:
        out = [function(*row) for row in zip(*cols)]
        case(spelling, shows or rule,
             ins, ["%s %%d, %s;" % (spelling,
                                    ", ".join("%" + REG[k] for k in range(n)))],
             [("%d", fmt.name, numbers(fmt, out))], extra)


def ftz2(fmt, function):
    def run(*args):
        r = function(*[fmt.flush(a) for a in args])
        return r if r is None or fmt.isnan(r) else fmt.flush(r)
    return run


MODES = ("rn", "rz", "rm", "rp")


def floats():
    for fmt in (f32, f64):
        t = fmt.name
        for op, fn, n in (("add", add, 2), ("mul", mul, 2), ("fma", fma, 3)):
            forms = [("%s.%s.%s" % (op, m, t),
                      lambda *x, m=m, fn=fn: fn(fmt, *x, m),
                      "one rounding, in the direction of .%s" % m)
                     for m in MODES]
            arithmetic(fmt, op, n, forms)
        arithmetic(fmt, "sub", 2,
                   [("sub.rn." + t, lambda a, b: sub(fmt, a, b),
                     "a - b, rounded once")])
        arithmetic(fmt, "div", 2,
                   [("div.%s.%s" % (m, t),
                     lambda a, b, m=m: div(fmt, a, b, m),
                     "the quotient rounded once, IEEE 754") for m in MODES])
        arithmetic(fmt, "sqrt", 1,
                   [("sqrt.%s.%s" % (m, t),
                     lambda a, m=m: sqrt(fmt, a, m),
                     "the root rounded once; -0 stays, negative gives NaN")
                    for m in MODES])
        arithmetic(fmt, "rcp", 1,
                   [("rcp.%s.%s" % (m, t),
                     lambda a, m=m: div(fmt, fmt.round(F(1)), a, m),
                     "1/a rounded once") for m in MODES])
        arithmetic(fmt, "minmax", 2,
                   [("min." + t, lambda a, b: minmax(fmt, a, b, False),
                     "the operand that is no NaN; -0 < +0"),
                    ("max." + t, lambda a, b: minmax(fmt, a, b, True),
                     "the operand that is no NaN; -0 < +0")])
        # Plain spellings round to nearest even.
        arithmetic(fmt, "plain", 2,
                   [("add." + t, lambda a, b: add(fmt, a, b),
                     "without a modifier: round to nearest even"),
                    ("mul." + t, lambda a, b: mul(fmt, a, b),
                     "without a modifier: round to nearest even")], 20)
    arithmetic(f32, "ftz", 2, [
        ("add.ftz.f32", ftz2(f32, lambda a, b: add(f32, a, b)),
         "subnormal inputs and results become zero of their sign"),
        ("mul.rn.ftz.f32", ftz2(f32, lambda a, b: mul(f32, a, b)),
         "subnormal inputs and results become zero of their sign"),
        ("div.rn.ftz.f32", ftz2(f32, lambda a, b: div(f32, a, b)),
         "subnormal inputs and results become zero of their sign"),
        ("min.ftz.f32",
         ftz2(f32, lambda a, b: minmax(f32, a, b, False)),
         "subnormal operands are flushed before they are compared"),
        ("add.sat.f32", lambda a, b: saturate(f32, add(f32, a, b)),
         ".sat clamps to [0, 1], NaN becomes +0"),
        ("mul.sat.f32", lambda a, b: saturate(f32, mul(f32, a, b)),
         ".sat clamps to [0, 1], NaN becomes +0"),
        ("max.NaN.f32", lambda a, b: minmax(f32, a, b, True, True),
         ".NaN: a NaN operand makes the result canonical NaN"),
        ("min.NaN.f32", lambda a, b: minmax(f32, a, b, False, True),
         ".NaN: a NaN operand makes the result canonical NaN"),
        ("min.xorsign.abs.f32",
         lambda a, b: minmax(f32, a, b, False, False, True),
         "magnitudes are compared, the signs xored"),
    ])
    arithmetic(f32, "ftz3", 3, [
        ("fma.rn.ftz.f32", ftz2(f32, lambda a, b, c: fma(f32, a, b, c)),
         "subnormal inputs and results become zero of their sign"),
        ("fma.rn.sat.f32", lambda a, b, c: saturate(f32, fma(f32, a, b, c)),
         ".sat clamps to [0, 1], NaN becomes +0"),
        ("mad.rn.f32", lambda a, b, c: fma(f32, a, b, c),
         "mad is fma on sm_20 and later"),
        ("min.f32 of three", None, ""),
    ][:3])
    arithmetic(f32, "ftz1", 1, [
        ("sqrt.rn.ftz.f32", ftz2(f32, lambda a: sqrt(f32, a)),
         "subnormal inputs become zero of their sign"),
        ("rcp.rn.ftz.f32",
         ftz2(f32, lambda a: div(f32, f32.round(F(1)), a)),
         "subnormal inputs and results become zero of their sign"),
    ])
    finite = [[x for x in c] for c in operands(f32, 2, COUNT)]
    keep = [i for i in range(COUNT)
            if not any(f32.isnan(c[i]) for c in finite)]
    a, b = ([c[i] for i in keep] for c in finite)
    case("copysign.f32", "d = copysign(a, b): b with the sign of a",
         [("%a", "b32", numbers(f32, a)), ("%b", "b32", numbers(f32, b))],
         ["copysign.f32 %d, %a, %b;", "abs.f32 %e, %a;", "neg.f32 %f, %a;",
          "abs.ftz.f32 %g, %a;"],
         [("%d", "b32", numbers(f32, [(x & f32.sign) | (y & ~f32.sign)
                                      for x, y in zip(a, b)])),
          ("%e", "b32", numbers(f32, [x & ~f32.sign for x in a])),
          ("%f", "b32", numbers(f32, [x ^ f32.sign for x in a])),
          ("%g", "b32", numbers(f32, [f32.flush(x & ~f32.sign) for x in a]))])


def halves():
    for fmt in (f16, bf16):
        t = fmt.name
        new = ("target: sm_90",)
        two = [("add.rn." + t, lambda a, b: add(fmt, a, b),
                "the exact sum rounded once to %s" % t),
               ("sub.rn." + t, lambda a, b: sub(fmt, a, b),
                "the exact difference rounded once"),
               ("mul.rn." + t, lambda a, b: mul(fmt, a, b),
                "the exact product rounded once"),
               ("min." + t, lambda a, b: minmax(fmt, a, b, False),
                "the operand that is no NaN; -0 < +0"),
               ("max." + t, lambda a, b: minmax(fmt, a, b, True),
                "the operand that is no NaN; -0 < +0"),
               ("min.NaN." + t, lambda a, b: minmax(fmt, a, b, False, True),
                "NaN goes through, canonical"),
               ("max.NaN." + t, lambda a, b: minmax(fmt, a, b, True, True),
                "NaN goes through, canonical")]
        three = [("fma.rn." + t, lambda a, b, c: fma(fmt, a, b, c),
                  "one rounding: through f32 it would be two"),
                 ("fma.rn.relu." + t,
                  lambda a, b, c: relu(fmt, fma(fmt, a, b, c)),
                  ".relu: negative becomes 0, NaN canonical")]
        if fmt is f16:
            two += [("add.ftz.f16", ftz2(f16, lambda a, b: add(f16, a, b)),
                     "subnormal inputs and results become zero"),
                    ("mul.ftz.sat.f16",
                     lambda a, b: saturate(f16, ftz2(
                         f16, lambda a, b: mul(f16, a, b))(a, b)),
                     ".ftz, then clamped to [0, 1]; NaN becomes +0"),
                    ("add.sat.f16", lambda a, b: saturate(f16, add(f16, a, b)),
                     "clamped to [0, 1]; NaN becomes +0")]
            three += [("fma.rn.sat.f16",
                       lambda a, b, c: saturate(f16, fma(f16, a, b, c)),
                       "clamped to [0, 1]; NaN becomes +0")]
        arithmetic(fmt, "two", 2, two, 48, extra=new)
        arithmetic(fmt, "three", 3, three, 64, extra=new)
        # Packed: each half by itself.
        a, b, c = operands(fmt, 3, 64)

        def packed(values):
            return ["0x%08X" % (values[2 * i] | values[2 * i + 1] << 16)
                    for i in range(32)]
        for op, fn in (("add.rn", lambda x, y, z: add(fmt, x, y)),
                       ("mul.rn", lambda x, y, z: mul(fmt, x, y)),
                       ("sub.rn", lambda x, y, z: sub(fmt, x, y)),
                       ("max", lambda x, y, z: minmax(fmt, x, y, True)),
                       ("fma.rn", lambda x, y, z: fma(fmt, x, y, z))):
            n = 3 if op.startswith("fma") else 2
            regs = ["%a", "%b", "%c"][:n]
            case("%s.%sx2" % (op, t), "both halves, each rounded by itself",
                 [(r, "b32", packed(v)) for r, v in zip(regs, (a, b, c))],
                 ["%s.%sx2 %%d, %s;" % (op, t, ", ".join(regs))],
                 [("%d", "b32", packed([fn(*x) for x in zip(a, b, c)]))], new)
    # A sum of products whose exact value lies just beside a tie of f16:
    # rounding to f32 first would lose on which side.
    a = f16.round(F(1) + F(1, 1024))
    b = f16.round(F(1) + F(1, 2048) * 0 + F(1, 1024))
    c = f16.round(F(1, 1 << 24))
    case("fma.rn.f16 beside a tie",
         "(1+2^-10)^2 + 2^-24 lies just above no tie of f16; one rounding",
         [("%a", "f16", [f16.hex(a)]), ("%b", "f16", [f16.hex(b)]),
          ("%c", "f16", [f16.hex(c), f16.hex(c | f16.sign)])],
         ["fma.rn.f16 %d, %a, %b, %c;"],
         [("%d", "f16", [f16.hex(fma(f16, a, b, c)),
                         f16.hex(fma(f16, a, b, c | f16.sign))])])
    # 2048.0 * 1.0 (a tie's lower neighbour) plus something tiny.
    rows = [(f16.round(F(2049) / 2049 * 3), f16.round(F(683)), 1),
            (f16.round(F(2047)), f16.round(F(3)), 0x8001),
            (f16.round(F(1025)), f16.round(F(2)) + 1, 1),
            (f16.round(F(1025)), f16.round(F(2)) + 1, 0x8001)]
    case("fma.rn.f16 sticky bits",
         "a subnormal addend decides a tie of the product",
         [("%" + r, "f16", [f16.hex(x[i]) for x in rows])
          for i, r in enumerate("abc")],
         ["fma.rn.f16 %d, %a, %b, %c;"],
         [("%d", "f16", [f16.hex(fma(f16, *x)) for x in rows])])
    rows = []
    while len(rows) < 48:
        x = [any_bits(bf16), any_bits(bf16), any_bits(bf16)]
        if not all(bf16.finite(v) for v in x):
            continue
        p = bf16.value(x[0]) * bf16.value(x[1])
        if p == 0 or abs(p) < F(2) ** -100 or abs(p) > F(2) ** 100:
            continue
        # An addend far below the product: only the sticky bit feels it.
        x[2] = bf16.round(abs(p) / F(2) ** 40) | rng.choice((0, bf16.sign))
        exact = p + bf16.value(x[2])
        if rng.random() < .5 or bf16.round(exact) != bf16.round(p):
            rows.append(x)
    case("fma.rn.bf16 sticky bits",
         "an addend of a 2^-40th of the product decides ties",
         [("%" + r, "bf16", [bf16.hex(x[i]) for x in rows])
          for i, r in enumerate("abc")],
         ["fma.rn.bf16 %d, %a, %b, %c;"],
         [("%d", "bf16", [bf16.hex(fma(bf16, *x)) for x in rows])])


def f32x2():
    new = ("target: sm_100", "version: 8.6")
    a, b, c = operands(f32, 3, 48)

    def pairs(v):
        return ["0x%016X" % (v[2 * i] | v[2 * i + 1] << 32) for i in range(24)]
    for op, fn in (("add.rn.f32x2", lambda x, y, z: add(f32, x, y)),
                   ("mul.rn.f32x2", lambda x, y, z: mul(f32, x, y)),
                   ("fma.rn.f32x2", lambda x, y, z: fma(f32, x, y, z)),
                   ("add.rz.f32x2", lambda x, y, z: add(f32, x, y, "rz")),
                   ("fma.rn.ftz.f32x2",
                    ftz2(f32, lambda x, y, z: fma(f32, x, y, z)))):
        n = 3 if op.startswith("fma") else 2
        regs = ["%a", "%b", "%c"][:n]
        case(op, "two f32 in 64 bits, each by itself",
             [(r, "b64", pairs(v)) for r, v in zip(regs, (a, b, c))],
             ["%s %%d, %s;" % (op, ", ".join(regs))],
             [("%d", "b64", pairs([fn(*x) for x in zip(a, b, c)]))], new)


def conversions():
    # Numbers near the limits of integers, and halves.
    def near(fmt):
        out = list(edge(fmt))
        for v in (F(1, 2), F(-1, 2), F(5, 2), F(-5, 2), F(7, 2), F(-7, 2),
                  F(127), F(128), F(255), F(256), F(-128), F(-129), F(32767),
                  F(32768), F(65535), F(65536), F(2 ** 31), F(-2 ** 31),
                  F(2 ** 32), F(2 ** 63), F(-2 ** 63), F(2 ** 64), F(-1, 4),
                  F(99, 100), F(-99, 100), F(511, 2), F(2 ** 31 - 128)):
            out.append(fmt.round(v))
        return out
    for fmt in (f32, f64, f16):
        values = near(fmt)
        ins = [("%a", bits_of(fmt), numbers(fmt, values))]
        # cvt to 8 bits leaves the rest of the register extended.
        for how in ("rni", "rzi", "rmi", "rpi"):
            code, outs = [], []
            for typ, bits in (("s16", 16), ("u16", 16), ("s32", 32),
                              ("u32", 32), ("s64", 64), ("u64", 64)):
                reg = "%o" + typ
                code.append("cvt.%s.%s.%s %s, %%a;" % (how, typ, fmt.name, reg))
                want = []
                for v in values:
                    w = to_integer(fmt, v, bits, typ[0] == "s", how)
                    if fmt.isnan(v) and (fmt is f64 or bits == 64):
                        want.append("?")  # checked by hand-written cases
                    else:
                        want.append("0x%0*X" % (bits // 4, w))
                outs.append((reg, "b%d" % bits, want))
            case("cvt.%s.INT.%s" % (how, fmt.name),
                 "rounded to an integer, then clamped to the type's range; "
                 "NaN gives 0", ins, code, outs)
        code, outs = [], []
        for how in ("rni", "rzi", "rmi", "rpi"):
            reg = "%o" + how
            code.append("cvt.%s.%s.%s %s, %%a;" % (how, fmt.name, fmt.name,
                                                   reg))
            want = []
            for v in values:
                if fmt.isnan(v):
                    want.append("nan")
                elif fmt.isinf(v):
                    want.append(fmt.hex(v))
                else:
                    want.append(fmt.hex(fmt.round(F(integral(fmt.value(v),
                                                             how)), "rn",
                                                  v & fmt.sign)))
            outs.append((reg, fmt.name, want))
        case("cvt.INTEGRAL.%s.%s" % (fmt.name, fmt.name),
             "rounded to an integral value of the same type; the sign of a "
             "zero stays", ins, code, outs)
    # Between floating types.
    def between(src, dst, modes, extra=()):
        values = near(src) + [any_bits(src) for _ in range(18)]
        # Ties of the destination.
        if src.m > dst.m:
            for k in range(8):
                base = dst.round(F(1)) + k * 37
                v = (dst.value(base) + dst.value(base + 1)) / 2
                values += [src.round(v), src.round(v) + 1, src.round(v) - 1]
            tiny = F(2) ** (dst.emin - dst.m)
            for q in (F(1, 2), F(3, 2), F(5, 2), F(1, 3)):
                values += [src.round(tiny * q), src.round(tiny * q) | src.sign]
            big = dst.value(dst.inf - 1) + F(2) ** (dst.emax - dst.m - 1)
            if big < src.value(src.inf - 1):
                values += [src.round(big), src.round(big) - 1]
        for m in modes:
            sp = "cvt%s.%s.%s" % ("." + m if m else "", dst.name, src.name)
            case(sp, "rounded once" + (" by .%s" % m if m else ", exact"),
                 [("%a", bits_of(src), numbers(src, values))],
                 [sp + " %d, %a;"],
                 [("%d", dst.name, numbers(dst, [
                     convert(src, dst, v, m or "rn") for v in values]))],
                 extra)
    between(f64, f32, MODES)
    between(f32, f64, ("",))
    between(f32, f16, ("rn", "rz"))
    between(f16, f32, ("",))
    between(f64, f16, ("rn",))
    between(f16, f64, ("",))
    between(f32, bf16, ("rn", "rz"))
    between(bf16, f32, ("",))
    # Integers to floating.
    for typ, bits in (("s32", 32), ("u32", 32), ("s64", 64), ("u64", 64),
                      ("s16", 16), ("u16", 16)):
        top = 1 << bits
        values = [0, 1, 2, top - 1, top - 2, top >> 1, (top >> 1) - 1,
                  (top >> 1) + 1, 2049, 4097, top - 2049]
        if bits > 16:
            values += [(1 << 24) + 1, (1 << 24) + 3, (1 << 25) + 2,
                       (1 << 25) + 6, 65504, 65520, 65519, top - 127]
        if bits == 64:
            values += [(1 << 53) + 1, (1 << 53) + 3, (1 << 54) + 2,
                       (1 << 40) + (1 << 16), (1 << 40) + (1 << 16) + 1]
        values = [v % top for v in values] + [rng.getrandbits(bits)
                                              for _ in range(8)]
        code, outs = [], []
        for dst in (f32, f64, f16):
            for m in MODES:
                if dst is f16 and m != "rn":
                    continue
                reg = "%%o%s%s" % (m, dst.name)
                code.append("cvt.%s.%s.%s %s, %%a;" % (m, dst.name, typ, reg))
                want = []
                for v in values:
                    n = v - top if typ[0] == "s" and v >= top >> 1 else v
                    want.append(dst.hex(dst.round(F(n), m)))
                outs.append((reg, dst.name, want))
        case("cvt.FLOAT.%s" % typ, "the integer rounded once",
             [("%a", "b%d" % bits, ["0x%0*X" % (bits // 4, v)
                                    for v in values])], code, outs)
    # Packed and modified conversions.
    a, b = operands(f32, 2, 40)
    for fmt in (f16, bf16):
        def pack(fn):
            return ["0x%08X" % (fn(x) << 16 | fn(y)) for x, y in zip(a, b)]
        t = fmt.name
        case("cvt.rn.%sx2.f32" % t,
             "the first source goes into the upper half; .relu clamps to 0, "
             "NaN canonical",
             [("%a", "b32", numbers(f32, a)), ("%b", "b32", numbers(f32, b))],
             ["cvt.rn.%sx2.f32 %%d, %%a, %%b;" % t,
              "cvt.rn.relu.%sx2.f32 %%e, %%a, %%b;" % t,
              "cvt.rz.%sx2.f32 %%f, %%a, %%b;" % t],
             [("%d", "b32", pack(lambda x: convert(f32, fmt, x))),
              ("%e", "b32", pack(lambda x: relu(fmt, convert(f32, fmt, x)))),
              ("%f", "b32", pack(lambda x: convert(f32, fmt, x, "rz")))])
    values = a + b
    case("cvt.sat.f32.f32", ".sat clamps to [0, 1], NaN becomes +0",
         [("%a", "b32", numbers(f32, values))],
         ["cvt.sat.f32.f32 %d, %a;", "cvt.ftz.f32.f32 %e, %a;",
          "cvt.rn.sat.f32.f64 %f, 0d4000000000000000;"],
         [("%d", "b32", numbers(f32, [saturate(f32, v) for v in values])),
          ("%e", "f32", numbers(f32, [None if f32.isnan(v) else f32.flush(v)
                                      for v in values])),
          ("%f", "f32", ["1.0"])][:2] + [("%f", "f32", ["1.0"] * len(values))])

    def tf32(v):
        if f32.isnan(v):
            return None
        if f32.isinf(v):
            return v
        t = Format("t", 19, 10, -126, 127)
        return t.round(f32.value(v), "rna", (v & f32.sign) >> 13) << 13
    values = [v for v in values + [0x3F801000, 0x3F800FFF, 0x3F803000,
                                   0xBF801000] if not f32.isnan(v)]
    case("cvt.rna.tf32.f32", "nearest, ties away from zero, to 10 bits",
         [("%a", "b32", numbers(f32, values))],
         ["cvt.rna.tf32.f32 %d, %a;"],
         [("%d", "b32", numbers(f32, [tf32(v) for v in values]))])
    values = near(f32)
    case("cvt.ftz to integers", "subnormals are zero before they are rounded",
         [("%a", "b32", numbers(f32, values))],
         ["cvt.rpi.ftz.s32.f32 %d, %a;", "cvt.rmi.ftz.s32.f32 %e, %a;",
          "cvt.rpi.s32.f32 %f, %a;"],
         [("%d", "b32", ["0x%08X" % to_integer(f32, v, 32, True, "rpi", True)
                         for v in values]),
          ("%e", "b32", ["0x%08X" % to_integer(f32, v, 32, True, "rmi", True)
                         for v in values]),
          ("%f", "b32", ["0x%08X" % to_integer(f32, v, 32, True, "rpi")
                         for v in values])])


def main():
    lines.append("# Written by make_float_cases.py; do not edit.")
    lines.append("from: exact fractions and one rounding, in "
                 "make_float_cases.py")
    lines.append("")
    floats()
    halves()
    f32x2()
    conversions()
    text = "\n".join(lines)
    if len(sys.argv) == 3 and sys.argv[1] == "--check":
        with open(sys.argv[2]) as f:
            if f.read() != text:
                sys.exit("%s is not what %s writes" % (sys.argv[2],
                                                       sys.argv[0]))
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
