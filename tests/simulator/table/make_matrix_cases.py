#!/usr/bin/env python3
"""Writes matrix.ptxtest: mma.sync with the fragment layouts of the PTX manual
("Matrix Fragments for mma.m16n8k4/k8/k16"), element by element, and small
integers whose products and sums are exact in every format.

Nothing here looks at the simulator. `--check FILE` compares instead of writing.
"""
import random
import struct
import sys

rng = random.Random(7)
lines = ["# Written by make_matrix_cases.py; do not edit.",
         "from: integers multiplied in make_matrix_cases.py, fragments laid "
         "out by the manual's formulas", ""]


def f16(v):
    return struct.unpack("<H", struct.pack("<e", v))[0]


def f32(v):
    return struct.unpack("<I", struct.pack("<f", v))[0]


def bf16(v):
    assert f32(v) & 0xFFFF == 0
    return f32(v) >> 16


# Element i of a thread's fragment -> (row, column), with g = lane >> 2 and
# t = lane % 4; as the manual writes them.
def a_k16(g, t, i):
    row = g if (0 <= i < 2) or (4 <= i < 6) else g + 8
    return row, t * 2 + (i & 1) + (0 if i < 4 else 8)


def b_k16(g, t, i):
    return t * 2 + (i & 1) + (0 if i < 2 else 8), g


def a_k8(g, t, i):
    return (g if i < 2 else g + 8), t * 2 + (i & 1)


def b_k8(g, t, i):
    return t * 2 + i, g


def a_k8_tf32(g, t, i):
    return (g if i in (0, 2) else g + 8), (t if i in (0, 1) else t + 4)


def b_k8_tf32(g, t, i):
    return (t if i == 0 else t + 4), g


def a_k4_tf32(g, t, i):
    return (g if i == 0 else g + 8), t


def b_k4_tf32(g, t, i):
    return t, g


def c_layout(g, t, i):
    return (g if i < 2 else g + 8), t * 2 + (i & 1)


def registers(matrix, layout, count, encode, per_register):
    """values[register][lane]"""
    regs = []
    for r in range(count // per_register):
        lane_values = []
        for lane in range(32):
            word = 0
            for h in range(per_register):
                row, col = layout(lane >> 2, lane % 4, r * per_register + h)
                word |= encode(matrix[row][col]) << (16 * h)
            lane_values.append(word)
        regs.append(lane_values)
    return regs


def case(name, spelling, k, la, na, lb, nb, enc, per, enc_c, per_c, enc_d,
         per_d):
    a = [[rng.randint(-4, 4) for _ in range(k)] for _ in range(16)]
    b = [[rng.randint(-4, 4) for _ in range(8)] for _ in range(k)]
    c = [[rng.randint(-20, 20) for _ in range(8)] for _ in range(16)]
    d = [[c[i][j] + sum(a[i][x] * b[x][j] for x in range(k))
          for j in range(8)] for i in range(16)]
    ra = registers(a, la, na, enc, per)
    rb = registers(b, lb, nb, enc, per)
    rc = registers(c, c_layout, 4, enc_c, per_c)
    rd = registers(d, c_layout, 4, enc_d, per_d)
    lines.append("case " + name)
    lines.append("rule: D = A B + C, row-major A, column-major B")

    def write(key, prefix, regs):
        names = []
        for i, values in enumerate(regs):
            names.append("%%%s%d" % (prefix, i))
            lines.append("%s %s b32:" % (key, names[-1]))
            for j in range(0, 32, 8):
                lines.append("  " + " ".join("0x%08X" % v
                                             for v in values[j:j + 8]))
        return "{" + ", ".join(names) + "}"
    na_ = write("in", "ma", ra)
    nb_ = write("in", "mb", rb)
    nc_ = write("in", "mc", rc)
    nd_ = "{" + ", ".join("%%md%d" % i for i in range(len(rd))) + "}"
    lines.append("code:")
    lines.append("  mma.sync.aligned.%s" % spelling)
    lines.append("    %s, %s, %s, %s;" % (nd_, na_, nb_, nc_))
    write("out", "md", rd)
    lines.append("")


F32 = (f32, 1)
F16 = (f16, 2)
case("mma m16n8k16 f16 into f32", "m16n8k16.row.col.f32.f16.f16.f32", 16,
     a_k16, 8, b_k16, 4, f16, 2, *F32, *F32)
case("mma m16n8k16 f16 into f16", "m16n8k16.row.col.f16.f16.f16.f16", 16,
     a_k16, 8, b_k16, 4, f16, 2, *F16, *F16)
case("mma m16n8k16 bf16", "m16n8k16.row.col.f32.bf16.bf16.f32", 16,
     a_k16, 8, b_k16, 4, bf16, 2, *F32, *F32)
case("mma m16n8k8 f16 into f32", "m16n8k8.row.col.f32.f16.f16.f32", 8,
     a_k8, 4, b_k8, 2, f16, 2, *F32, *F32)
case("mma m16n8k8 f16 into f16", "m16n8k8.row.col.f16.f16.f16.f16", 8,
     a_k8, 4, b_k8, 2, f16, 2, *F16, *F16)
case("mma m16n8k8 bf16", "m16n8k8.row.col.f32.bf16.bf16.f32", 8,
     a_k8, 4, b_k8, 2, bf16, 2, *F32, *F32)
case("mma m16n8k8 tf32", "m16n8k8.row.col.f32.tf32.tf32.f32", 8,
     a_k8_tf32, 4, b_k8_tf32, 2, f32, 1, *F32, *F32)
case("mma m16n8k4 tf32", "m16n8k4.row.col.f32.tf32.tf32.f32",
     4, a_k4_tf32, 2, b_k4_tf32, 1, f32, 1, *F32, *F32)

text = "\n".join(lines)
if len(sys.argv) == 3 and sys.argv[1] == "--check":
    with open(sys.argv[2]) as f:
        if f.read() != text:
            sys.exit("%s is not what %s writes" % (sys.argv[2], sys.argv[0]))
else:
    sys.stdout.write(text)
