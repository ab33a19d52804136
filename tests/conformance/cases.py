"""One small model per operator, form and size: what the importer accepts must give ONNX's values.

A case is a model of one node (or of a few, where shapes are computed) with inputs. `define(add)` lists them; add() makes one:

    add(op, name, inputs, attributes, opset=..., constants=(...), outputs=1)

`inputs` are arrays, in the operator's order, None for one that is left out; those whose positions are in `constants` become
initialisers. Numbers are a function of the case's name.
"""
import hashlib

import numpy as np

from control_flow import define_control_flow

F32, F64, F16 = np.float32, np.float64, np.float16
I64, I32, I8, U8 = np.int64, np.int32, np.int8, np.uint8
SIZES = [(1,), (31,), (33,), (777,), (1, 1), (3, 33), (31, 7), (2, 3, 5), (4, 16, 64), (1, 777), (777, 1), (2, 1, 3, 4)]


def numbers(key, shape, low=-2.0, high=2.0, dtype=F32):
    """Values between low and high, the same everywhere: raw bits of a Philox generator keyed by `key`."""
    seed = int.from_bytes(hashlib.sha256(key.encode()).digest()[:16], "little")
    count = int(np.prod(shape, dtype=np.int64))
    bits = np.random.Philox(key=seed).random_raw(count + 1)[:count]
    unit = (bits >> np.uint64(11)).astype(F64) * 2.0**-53
    if np.issubdtype(np.dtype(dtype), np.integer):
        return (np.floor(unit * (high - low + 1)) + low).astype(dtype).reshape(shape)
    if np.dtype(dtype) == bool:
        return (unit < 0.5).reshape(shape)
    return (unit * (high - low) + low).astype(dtype).reshape(shape)


def text(shape):
    return "x".join(map(str, shape)) or "scalar"


def define(add):
    for part in (elementwise, broadcasts, integers, comparisons, casts, reductions, normalisations, views, joins, gathers, pads,
                 windows, products, folded, further, ordered, scatters, resizes,
                 einsums, spreads):
        part(add)
    define_control_flow(add, numbers)


# --- elementwise ------------------------------------------------------------------------------------------------------
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 88.0, -88.0, 1e-30, -1e-30, 1e30, np.inf, -np.inf, np.nan, 3.4e38], F32)


def elementwise(add):
    unary = {"Cos": (-9, 9), "Erf": (-4, 4), "Exp": (-20, 20), "HardSigmoid": (-4, 4), "Identity": (-2, 2), "Neg": (-2, 2),
             "Reciprocal": (0.1, 4), "Relu": (-2, 2), "Sigmoid": (-9, 9), "Sin": (-9, 9), "Sqrt": (0, 9), "Tanh": (-4, 4)}
    for op, (low, high) in unary.items():
        for shape in ((1,), (31,), (33,), (777,), (2, 3, 5)):
            add(op, text(shape), [numbers(f"{op}{shape}", shape, low, high)])
        for dtype in ("f16",) if op in ("Cos", "HardSigmoid", "Sin") else ("f16", "bf16"):  # those have bf16 from opset 22 on
            add(op, dtype, [numbers(f"{op}{dtype}", (33, 7), max(low, -9), min(high, 9))], dtype=dtype)
        add(op, "scalar", [numbers(op, (), low, high)])
    for op in ("Exp", "Neg", "Relu", "Sigmoid", "Tanh", "Erf", "Reciprocal", "Sqrt", "Identity"):
        add(op, "special", [SPECIAL])
    for op in ("Sqrt", "Exp", "Tanh", "Neg", "Reciprocal"):
        add(op, "f64", [numbers(f"{op}f64", (33,), 0.1, 3, F64)])
    add("Neg", "i64", [numbers("negi64", (33,), -100, 100, I64)])
    add("Identity", "bool", [numbers("identitybool", (33,), dtype=bool)])
    add("Identity", "u8", [numbers("identityu8", (33,), 0, 255, U8)])
    add("HardSigmoid", "attributes", [numbers("hs", (5, 9), -4, 4)], dict(alpha=0.3, beta=0.4))
    x = numbers("clip", (5, 33), -3, 3)
    add("Clip", "attributes", [x], dict(min=-1.0, max=1.5), opset=9)
    add("Clip", "no_attributes", [x], opset=9)
    add("Clip", "inputs", [x, F32(-1), F32(1.5)], constants=(1, 2), opset=11)
    add("Clip", "inputs_of_the_run", [x, F32(-1), F32(1.5)], opset=13)
    add("Clip", "only_max", [x, None, F32(0.5)], constants=(2,), opset=13)
    add("Clip", "only_min", [x, F32(0)], constants=(1,), opset=13)
    add("Clip", "i32", [numbers("clipi", (33,), -9, 9, I32), I32(-4), I32(4)], constants=(1, 2), opset=13)
    add("Clip", "f16", [numbers("cliph", (33,), -3, 3), F32(-1), F32(1.5)], constants=(1, 2), opset=13, dtype="f16")
    add("Clip", "nan", [SPECIAL, F32(-2), F32(2)], constants=(1, 2), opset=13)


def broadcasts(add):
    pairs = [((33,), (33,)), ((3, 33), (33,)), ((3, 1), (1, 33)), ((777,), ()), ((), (31,)), ((2, 3, 5), (3, 1)), ((2, 1, 5), (1, 3, 1)),
             ((4, 16, 64), (64,)), ((4, 16, 64), (4, 1, 1)), ((1, 777), (777, 1)), ((1,), (1,))]
    for op, low in {"Add": -2, "Sub": -2, "Mul": -2, "Div": 0.2, "Pow": 0.2, "Max": -2}.items():
        for a, b in pairs:
            add(op, f"{text(a)}_{text(b)}", [numbers(f"{op}a{a}", a, low, 2), numbers(f"{op}b{b}", b, low, 2)])
        for dtype in ("f16", "bf16"):
            add(op, dtype, [numbers(f"{op}{dtype}a", (7, 33), low, 2), numbers(f"{op}{dtype}b", (33,), low, 2)], dtype=dtype)
        add(op, "f64", [numbers(f"{op}ad", (5, 9), low, 2, F64), numbers(f"{op}bd", (9,), low, 2, F64)])
        add(op, "same_twice", [numbers(f"{op}t", (33,), low, 2)] * 2)
    for op in ("Add", "Mul", "Sub", "Div"):
        add(op, "opset_9_13", [numbers("o9", (3, 33), 0.2, 2), numbers("o9b", (33,), 0.2, 2)], opset=9)
    special = np.stack(np.meshgrid(SPECIAL, SPECIAL)).astype(F32)
    for op in ("Add", "Mul", "Div", "Max"):
        add(op, "special", [special[0], special[1]])
    add("Max", "three", [numbers(f"max{i}", s) for i, s in enumerate([(3, 5), (5,), (3, 1)])])
    add("Max", "one", [numbers("max1", (33,))])
    add("Pow", "square", [numbers("p2", (5, 33)), F32(2)], constants=(1,))
    add("Pow", "half", [numbers("p05", (5, 33), 0, 4), F32(0.5)], constants=(1,))
    add("Pow", "cube_of_negative", [numbers("p3", (5, 33)), F32(3)], constants=(1,))
    add("Pow", "integer_exponent", [numbers("pi", (5, 33)), np.array([2, 3, 0] * 11, I64)], opset=13)
    add("Pow", "integer_base", [np.array([2, 3, 4, 9, 27, 1000], I32), np.array([2, 2, 0.5, 0.5, 2, 3], F32)], opset=13)
    add("Where", "same", [numbers("wc", (3, 33), dtype=bool), numbers("wa", (3, 33)), numbers("wb", (3, 33))])
    add("Where", "broadcast", [numbers("wc2", (3, 1), dtype=bool), numbers("wa2", (33,)), F32(-1)], constants=(2,))
    add("Where", "mask_wider", [numbers("wc3", (4, 3, 7), dtype=bool), numbers("wa3", (3, 7)), numbers("wb3", ())])
    add("Where", "i64", [numbers("wc4", (33,), dtype=bool), numbers("wa4", (33,), -9, 9, I64), numbers("wb4", (33,), -9, 9, I64)])
    add("Where", "u8", [numbers("wc5", (33,), dtype=bool), numbers("wa5", (33,), 0, 255, U8), numbers("wb5", (33,), 0, 255, U8)])
    for dtype in ("f16", "bf16"):
        add("Where", dtype, [numbers("wc6", (3, 33), dtype=bool), numbers("wa6", (3, 33)), numbers("wb6", (33,))], dtype=dtype, opset=16)


def integers(add):
    for name, dtype, low, high in (("i32", I32, -50, 50), ("i64", I64, -50, 50), ("i32_wraps", I32, -(2**31), 2**31 - 1)):
        a, b = numbers(f"{name}a", (5, 33), low, high, dtype), numbers(f"{name}b", (33,), low, high, dtype)
        for op in ("Add", "Sub", "Mul"):
            add(op, name, [a, b])
        add("Max", name, [a, np.broadcast_to(b, (5, 33)).copy()])
        add("Div", name, [a, np.where(b == 0, 7, b).astype(dtype)])
    add("Max", "u8_above_127", [numbers("mu8a", (33,), 0, 255, U8), numbers("mu8b", (33,), 0, 255, U8)], opset=13)


def comparisons(add):
    a, b = numbers("cmpa", (5, 33)), numbers("cmpb", (33,))
    for op in ("Equal", "LessOrEqual"):
        opset = 16 if op == "LessOrEqual" else 13
        add(op, "f32", [np.round(a), np.round(b)], opset=opset)
        add(op, "i64", [numbers("ca", (5, 33), -3, 3, I64), numbers("cb", (33,), -3, 3, I64)], opset=opset)
        add(op, "i32_scalar", [numbers("cc", (33,), -3, 3, I32), I32(1)], constants=(1,), opset=opset)
        add(op, "nan", [SPECIAL, SPECIAL[::-1].copy()], opset=opset)
    add("Less", "f32", [np.round(a), np.round(b)], opset=9)
    add("Less", "u8_above_127", [numbers("la", (33,), 0, 255, U8), numbers("lb", (33,), 0, 255, U8)], opset=13)
    add("Equal", "bool", [numbers("eb", (33,), dtype=bool), numbers("ec", (33,), dtype=bool)], opset=11)
    add("And", "masks", [numbers("anda", (3, 33), dtype=bool), numbers("andb", (33,), dtype=bool)])
    add("And", "broadcast", [numbers("andc", (4, 1, 7), dtype=bool), numbers("andd", (1, 5, 7), dtype=bool)])


def casts(add):
    x = np.concatenate([numbers("cast", (30,), -100, 100), np.array([0.0, 0.5, -0.5, 1.5, -1.5, 127.0], F32)])
    for to in ("i8", "i32", "i64", "f16", "f64", "bool", "bf16"):
        add("Cast", f"f32_{to}", [x], dict(to=to))
    add("Cast", "f32_u8", [np.abs(x)], dict(to="u8"))
    add("Cast", "u8_f32_above_127", [numbers("castu8", (777,), 0, 255, U8)], dict(to="f32"))
    add("Cast", "u8_i32_above_127", [numbers("castu8i", (33,), 0, 255, U8)], dict(to="i32"))
    add("Cast", "i8_f32", [numbers("casti8", (33,), -128, 127, I8)], dict(to="f32"))
    add("Cast", "i64_f32", [numbers("casti64", (33,), -(2**40), 2**40, I64)], dict(to="f32"))
    add("Cast", "i64_i32_wraps", [numbers("casti6432", (33,), -(2**40), 2**40, I64)], dict(to="i32"))
    add("Cast", "i32_u8_wraps", [numbers("casti32u8", (33,), -1000, 1000, I32)], dict(to="u8"))
    add("Cast", "i64_bool", [numbers("castb", (33,), -1, 1, I64)], dict(to="bool"))
    add("Cast", "bool_f32", [numbers("castbf", (33,), dtype=bool)], dict(to="f32"))
    add("Cast", "bool_i64", [numbers("castbi", (33,), dtype=bool)], dict(to="i64"))
    add("Cast", "f16_f32", [numbers("castf16", (33,), dtype=F16)], dict(to="f32"))
    add("Cast", "f64_f32", [numbers("castf64", (33,), dtype=F64)], dict(to="f32"))
    add("Cast", "opset_9", [x], dict(to="i64"), opset=9)
    add("Cast", "special_bool", [SPECIAL], dict(to="bool"))


# --- reductions ---------------------------------------------------------------------------------------------------------
def reductions(add):
    axes_of = {1: [(0,)], 2: [(0,), (1,), (0, 1), (-1,)], 3: [(0,), (1,), (2,), (0, 2), (1, 2), (0, 1, 2), (-2,)], 4: [(1, 3), (2, 3), (0, 2, 3)]}
    for op in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceL2"):
        for shape in SIZES:
            for axes in axes_of[len(shape)]:
                for keep in (0, 1) if shape in ((3, 33), (2, 3, 5)) else (1,):
                    name = f"{text(shape)}_axes{'_'.join(map(str, axes))}{'' if keep else '_dropped'}"
                    x = numbers(f"{op}{shape}", shape)
                    if op == "ReduceSum":
                        add(op, name, [x, np.array(axes, I64)], dict(keepdims=keep), constants=(1,), opset=13)
                    else:
                        add(op, name, [x], dict(axes=list(axes), keepdims=keep), opset=13)
        x = numbers(f"{op}more", (3, 4, 33))
        add(op, "all", [x], opset=13)
        add(op, "all_dropped", [x], dict(keepdims=0), opset=13)
        add(op, "opset_9_attribute", [x], dict(axes=[1]), opset=9)
        add(op, "opset_11_negative_axis", [x], dict(axes=[-1]), opset=11)
        if op != "ReduceSum":
            add(op, "opset_18_input", [x, np.array([2], I64)], constants=(1,), opset=18)
        for dtype in ("f16", "bf16"):
            if op == "ReduceSum":
                add(op, dtype, [x, np.array([-1], I64)], constants=(1,), opset=13, dtype=dtype)
            else:
                add(op, dtype, [x], dict(axes=[-1]), opset=13, dtype=dtype)
        add(op, "long_row", [numbers(f"{op}long", (2, 5003)), np.array([1], I64)] if op == "ReduceSum" else [numbers(f"{op}long", (2, 5003))],
            {} if op == "ReduceSum" else dict(axes=[1]), constants=(1,) if op == "ReduceSum" else (), opset=13)
    x = numbers("rs18", (3, 4, 33))
    add("ReduceSum", "no_axes_is_identity", [x, np.array([], I64)], dict(noop_with_empty_axes=1), constants=(1,), opset=13)
    add("ReduceSum", "i32", [numbers("rsi", (3, 33), -99, 99, I32), np.array([1], I64)], constants=(1,), opset=13)
    add("ReduceSum", "i64", [numbers("rsl", (3, 33), -99, 99, I64), np.array([0], I64)], constants=(1,), opset=13)
    add("ReduceSum", "f64", [numbers("rsd", (3, 33), dtype=F64), np.array([1], I64)], constants=(1,), opset=13)
    add("ReduceMax", "i64", [numbers("rmi", (3, 33), -99, 99, I64)], dict(axes=[1]), opset=13)
    add("ReduceMax", "u8_above_127", [numbers("rmu", (3, 33), 0, 255, U8)], dict(axes=[1]), opset=13)
    add("ReduceMax", "with_infinity", [np.where(numbers("rmf", (3, 33)) > 1.5, -np.inf, numbers("rmf", (3, 33))).astype(F32)], dict(axes=[1]), opset=13)


# --- softmax and normalisations -----------------------------------------------------------------------------------------
def normalisations(add):
    for op in ("Softmax", "LogSoftmax"):
        for shape in SIZES:
            add(op, text(shape), [numbers(f"{op}{shape}", shape, -5, 5)], dict(axis=-1), opset=13)
        x = numbers(f"{op}axes", (3, 4, 5, 7), -5, 5)
        for axis in (0, 1, 2, 3, -3):
            add(op, f"axis{axis}", [x], dict(axis=axis), opset=13)
            add(op, f"opset_11_flattens_axis{axis}", [x], dict(axis=axis), opset=11)
        add(op, "opset_9_default", [x], opset=9)
        add(op, "large_values", [numbers(f"{op}large", (3, 33), 900, 1000)], dict(axis=-1), opset=13)
        for dtype in ("f16", "bf16"):
            add(op, dtype, [numbers(f"{op}{dtype}", (7, 33), -5, 5)], dict(axis=-1), opset=13, dtype=dtype)
    masked = np.where(numbers("masked", (5, 33)) > 0.5, -np.inf, numbers("masked2", (5, 33))).astype(F32)
    add("Softmax", "masked_with_infinity", [masked], dict(axis=-1), opset=13)
    for shape in ((2, 33), (3, 5, 16), (1, 777), (31, 1)):
        c = shape[-1]
        add("LayerNormalization", text(shape), [numbers(f"ln{shape}", shape), numbers("lng", (c,)), numbers("lnb", (c,))], dict(epsilon=1e-5), opset=17)
    x = numbers("lna", (3, 4, 5, 6))
    add("LayerNormalization", "axis1", [x, numbers("lnag", (4, 5, 6)), numbers("lnab", (4, 5, 6))], dict(axis=1), opset=17)
    add("LayerNormalization", "no_bias", [x, numbers("lnag2", (6,))], dict(axis=-1), opset=17)
    add("LayerNormalization", "f16", [x, numbers("lnag3", (6,)), numbers("lnab3", (6,))], opset=17, dtype="f16")
    for shape in ((3, 5, 11, 13), (2, 4, 31), (1, 1, 1, 33), (2, 3, 3, 4, 5)):
        c = shape[1]
        add("InstanceNormalization", text(shape), [numbers(f"in{shape}", shape), numbers("ing", (c,)), numbers("inb", (c,))], dict(epsilon=1e-4))
        statistics = [numbers("bng", (c,)), numbers("bnb", (c,)), numbers("bnm", (c,)), numbers("bnv", (c,), 0.2, 2)]
        for opset in (9, 14, 15):
            add("BatchNormalization", f"{text(shape)}_opset_{opset}", [numbers(f"bn{shape}", shape), *statistics], constants=(1, 2, 3, 4), opset=opset)
    add("BatchNormalization", "two_dimensions", [numbers("bn2", (5, 33)), *(numbers(f"bn2{i}", (33,), 0.2, 2) for i in range(4))], opset=15)


# --- views ------------------------------------------------------------------------------------------------------------------
def views(add):
    x = numbers("views", (2, 3, 4, 5))
    for perm in ((0, 1, 2, 3), (3, 2, 1, 0), (0, 2, 1, 3), (0, 2, 3, 1), (1, 0, 3, 2)):
        add("Transpose", "".join(map(str, perm)), [x], dict(perm=list(perm)))
    add("Transpose", "default", [numbers("tr", (33, 31))])
    add("Transpose", "with_ones", [numbers("tr1", (1, 33, 1, 7))], dict(perm=[2, 3, 0, 1]))
    add("Transpose", "large", [numbers("trl", (130, 67))], dict(perm=[1, 0]))
    add("Transpose", "u8", [numbers("tru", (5, 33), 0, 255, U8)], dict(perm=[1, 0]))
    add("Transpose", "f16", [numbers("trh", (5, 33))], dict(perm=[1, 0]), dtype="f16")
    for name, shape in {"flat": [120], "minus": [2, -1], "zero_keeps": [0, 0, 20], "same": [2, 3, 4, 5], "ones": [1, 2, 3, 4, 5, 1]}.items():
        add("Reshape", name, [x, np.array(shape, I64)], constants=(1,))
    add("Reshape", "to_scalar", [numbers("rsc", (1, 1)), np.array([], I64)], constants=(1,))
    y = numbers("sq", (1, 3, 1, 5))
    add("Squeeze", "attribute", [y], dict(axes=[0, 2]), opset=11)
    add("Squeeze", "input", [y, np.array([0], I64)], constants=(1,), opset=13)
    add("Squeeze", "negative", [y, np.array([-2], I64)], constants=(1,), opset=13)
    add("Squeeze", "all", [y], opset=13)
    add("Unsqueeze", "attribute", [numbers("us", (3, 5))], dict(axes=[0, 3]), opset=9)
    add("Unsqueeze", "input", [numbers("us", (3, 5)), np.array([1], I64)], constants=(1,), opset=13)
    add("Unsqueeze", "negative", [numbers("us", (3, 5)), np.array([-1, 0], I64)], constants=(1,), opset=13)
    add("Unsqueeze", "scalar", [numbers("uss", ()), np.array([0], I64)], constants=(1,), opset=13)
    for name, shape, to in (("rows", (1, 33), [5, 33]), ("columns", (31, 1), [31, 7]), ("new_axes", (5,), [2, 3, 5]), ("ones", (3, 1, 5), [1, 4, 1]),
                            ("scalar", (), [3, 3]), ("nothing", (3, 5), [1, 1])):
        add("Expand", name, [numbers(f"ex{name}", shape), np.array(to, I64)], constants=(1,))
    z = numbers("sl", (5, 33, 7))
    add("Slice", "attributes", [z], dict(starts=[1, 2], ends=[4, 30], axes=[0, 1]), opset=9)
    add("Slice", "attributes_without_axes", [z], dict(starts=[1, 2, 0], ends=[4, 1000, -1]), opset=9)

    def sliced(name, starts, ends, axes, steps):
        add("Slice", name, [z, *(np.array(v, I64) for v in (starts, ends, axes, steps))], constants=(1, 2, 3, 4), opset=13)

    sliced("one_axis", [3], [20], [1], [1])
    sliced("strided", [1], [32], [1], [3])
    sliced("backwards", [-1], [-1000], [1], [-1])
    sliced("backwards_by_two", [30], [2], [1], [-2])
    sliced("negative_axis", [-5], [-1], [-2], [1])
    sliced("past_the_end", [2, 1], [2**62, 2**31 - 1], [0, 2], [1, 1])
    add("Slice", "i32_indices", [z, np.array([1], I32), np.array([4], I32)], constants=(1, 2), opset=11)
    add("Slice", "u8", [numbers("slu", (5, 33), 0, 255, U8), np.array([3], I64), np.array([20], I64), np.array([1], I64)], constants=(1, 2, 3), opset=13)


def joins(add):
    parts = [numbers(f"cc{i}", (2, n, 5)) for i, n in enumerate((1, 3, 4))]
    for opset in (9, 13):
        add("Concat", f"middle_opset_{opset}", parts, dict(axis=1), opset=opset)
    add("Concat", "last", [numbers(f"ccl{i}", (3, n)) for i, n in enumerate((31, 1, 33))], dict(axis=-1), opset=13)
    add("Concat", "first", [numbers(f"ccf{i}", (n, 7)) for i, n in enumerate((5, 2))], dict(axis=0), opset=13)
    add("Concat", "one", [numbers("cco", (3, 5))], dict(axis=0), opset=13)
    add("Concat", "same_twice", [numbers("cct", (3, 5))] * 2, dict(axis=1), opset=13)
    add("Concat", "with_constant", [numbers("cck", (3, 5)), numbers("cckk", (3, 2))], dict(axis=1), constants=(1,), opset=13)
    add("Concat", "nothing_in_one", [numbers("cc0", (3, 5)), numbers("cc00", (3, 0))], dict(axis=1), opset=13)
    add("Concat", "f16", [numbers(f"cch{i}", (3, n)) for i, n in enumerate((3, 4))], dict(axis=1), opset=13, dtype="f16")
    add("Concat", "i64", [numbers(f"cci{i}", (n,), -9, 9, I64) for i, n in enumerate((3, 4))], dict(axis=0), opset=13)
    x = numbers("split", (4, 12, 5))
    add("Split", "attribute", [x], dict(axis=1, split=[3, 4, 5]), opset=11, outputs=3)
    add("Split", "equal", [x], dict(axis=1), opset=13, outputs=3)
    add("Split", "input", [x, np.array([1, 11], I64)], dict(axis=1), constants=(1,), opset=13, outputs=2)
    add("Split", "last_axis", [numbers("splitl", (3, 66)), np.array([33, 33], I64)], dict(axis=-1), constants=(1,), opset=13, outputs=2)
    add("Split", "num_outputs", [numbers("splitn", (3, 7))], dict(axis=1, num_outputs=3), opset=18, outputs=3)


def gathers(add):
    table = numbers("table", (33, 7))
    add("Gather", "rows", [table, numbers("gi", (5,), 0, 32, I64)])
    add("Gather", "rows_i32_2d", [table, numbers("gj", (3, 4), 0, 32, I32)])
    add("Gather", "columns", [table, numbers("gk", (4,), 0, 6, I64)], dict(axis=1))
    add("Gather", "negative_indices", [table, np.array([-1, -33, 0, 32], I64)], opset=13)
    add("Gather", "scalar_index", [table, np.array(3, I64)], constants=(1,))
    add("Gather", "middle_axis", [numbers("gm", (3, 9, 5)), numbers("gmi", (2, 2), 0, 8, I64)], dict(axis=1))
    add("Gather", "negative_axis", [numbers("gm", (3, 9, 5)), np.array([4, 0], I64)], dict(axis=-1), constants=(1,))
    add("Gather", "f16", [numbers("gh", (33, 7)), numbers("ghi", (5,), 0, 32, I64)], dtype="f16")
    add("Gather", "i64_table", [numbers("gt", (33,), -99, 99, I64), numbers("gti", (5,), 0, 32, I64)])
    add("Gather", "constant_table", [table, numbers("gc", (777,), 0, 32, I64)], constants=(0,))


def pads(add):
    x = numbers("pad", (3, 4, 5))
    amounts = [0, 1, 2, 1, 0, 3]
    for mode in ("constant", "reflect", "edge"):
        add("Pad", f"{mode}_attribute", [x], dict(mode=mode, pads=amounts), opset=9)
        add("Pad", f"{mode}_input", [x, np.array(amounts, I64)], dict(mode=mode), constants=(1,), opset=13)
    add("Pad", "value_attribute", [x], dict(pads=amounts, value=1.5), opset=9)
    add("Pad", "value_input", [x, np.array(amounts, I64), F32(-2.5)], constants=(1, 2), opset=13)
    add("Pad", "minus_infinity", [x, np.array(amounts, I64), F32(-np.inf)], constants=(1, 2), opset=13)
    add("Pad", "negative_crops", [x, np.array([0, -1, 1, 0, -1, 2], I64)], constants=(1,), opset=13)
    add("Pad", "axes", [x, np.array([2, 1], I64), F32(0), np.array([-1], I64)], constants=(1, 2, 3), opset=18)
    add("Pad", "i64", [numbers("padi", (5,), -9, 9, I64), np.array([2, 1], I64), I64(7)], constants=(1, 2), opset=13)
    add("Pad", "f16", [numbers("padh", (3, 5)), np.array([0, 1, 0, 2], I64)], constants=(1,), opset=13, dtype="f16")


# --- windows and products --------------------------------------------------------------------------------------------------
def windows(add):
    x = numbers("pool", (2, 3, 11, 13))
    add("AveragePool", "plain", [x], dict(kernel_shape=[3, 3]), opset=11)
    add("AveragePool", "strided", [x], dict(kernel_shape=[2, 3], strides=[2, 2]), opset=11)
    add("AveragePool", "padded", [x], dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1]), opset=11)
    add("AveragePool", "padded_counted", [x], dict(kernel_shape=[3, 3], pads=[1, 0, 1, 2], count_include_pad=1), opset=11)
    add("AveragePool", "ceil", [x], dict(kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1), opset=11)
    add("AveragePool", "same_upper", [x], dict(kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER"), opset=11)
    add("AveragePool", "one_dimension", [numbers("pool1", (2, 3, 33))], dict(kernel_shape=[4], strides=[3]), opset=11)
    for op in ("GlobalAveragePool", "GlobalMaxPool"):
        for shape in ((2, 3, 11, 13), (1, 5, 33), (2, 3, 1, 1), (1, 2, 3, 4, 5)):
            add(op, text(shape), [numbers(f"{op}{shape}", shape)])
        add(op, "f16", [numbers(f"{op}h", (2, 3, 33))], dtype="f16")

    def conv(name, shape, weight, attributes, bias=True, **more):
        tensors = [numbers(f"conv{name}", shape), numbers(f"convw{name}", weight, -0.5, 0.5)]
        add("Conv", name, tensors + ([numbers(f"convb{name}", weight[:1])] if bias else []), attributes, constants=(1, 2) if bias else (1,), **more)

    conv("plain", (2, 3, 11, 13), (4, 3, 3, 3), {})
    conv("no_bias", (2, 3, 11, 13), (4, 3, 3, 3), {}, bias=False)
    conv("padded_strided", (1, 3, 12, 14), (5, 3, 3, 3), dict(pads=[1, 1, 1, 1], strides=[2, 2]))
    conv("asymmetric", (1, 2, 9, 9), (3, 2, 3, 2), dict(pads=[0, 1, 2, 1]))
    conv("dilated", (1, 2, 13, 13), (3, 2, 3, 3), dict(dilations=[2, 3]))
    conv("grouped", (2, 6, 7, 7), (4, 3, 3, 3), dict(group=2))
    conv("depthwise", (2, 6, 9, 9), (6, 1, 3, 3), dict(group=6, pads=[1, 1, 1, 1]))
    conv("pointwise", (2, 6, 7, 5), (9, 6, 1, 1), {})
    conv("one_dimension", (2, 3, 33), (5, 3, 5), dict(pads=[2, 2]))
    conv("three_dimensions", (1, 2, 5, 6, 7), (3, 2, 2, 3, 2), {})
    conv("same_upper", (1, 2, 10, 10), (3, 2, 3, 3), dict(auto_pad="SAME_UPPER", strides=[2, 2]))
    conv("same_lower", (1, 2, 9, 9), (3, 2, 2, 2), dict(auto_pad="SAME_LOWER"))
    conv("f16", (1, 3, 9, 9), (4, 3, 3, 3), {}, dtype="f16")
    add("Conv", "weights_of_the_run", [numbers("convr", (1, 2, 9, 9)), numbers("convrw", (3, 2, 3, 3))])


def products(add):
    for a, b in (((5, 7), (7, 3)), ((1, 1), (1, 1)), ((31, 33), (33, 17)), ((2, 5, 7), (2, 7, 3)), ((2, 3, 5, 7), (7, 4)), ((2, 1, 5, 7), (1, 3, 7, 4)),
                 ((7,), (7, 3)), ((5, 7), (7,)), ((7,), (7,)), ((3, 5, 7), (7,)), ((7,), (2, 7, 3)), ((1, 777), (777, 2))):
        add("MatMul", f"{text(a)}_{text(b)}", [numbers(f"mma{a}", a), numbers(f"mmb{b}", b)])
    add("MatMul", "constant_weights", [numbers("mmc", (2, 5, 33)), numbers("mmcw", (33, 8))], constants=(1,))
    add("MatMul", "f64", [numbers("mmd", (5, 7), dtype=F64), numbers("mmdb", (7, 3), dtype=F64)])
    add("MatMul", "i32", [numbers("mmi", (5, 7), -9, 9, I32), numbers("mmib", (7, 3), -9, 9, I32)])
    for dtype in ("f16", "bf16"):
        add("MatMul", dtype, [numbers("mmh", (2, 5, 33)), numbers("mmhb", (33, 8))], dtype=dtype)
    a, b = numbers("ga", (5, 7)), numbers("gb", (7, 3))
    for name, left, right, attributes, bias in (
            ("plain", a, b, {}, (3,)), ("no_bias", a, b, {}, None), ("transposed_left", a.T.copy(), b, dict(transA=1), (3,)),
            ("transposed_right", a, b.T.copy(), dict(transB=1), (5, 3)), ("both", a.T.copy(), b.T.copy(), dict(transA=1, transB=1), (1, 3)),
            ("scaled", a, b, dict(alpha=0.5, beta=2.0), (5, 1)), ("scalar_bias", a, b, dict(beta=0.25), ()), ("no_beta", a, b, dict(beta=0.0), (3,))):
        add("Gemm", name, [left, right] + ([numbers(f"gc{name}", bias)] if bias is not None else []), attributes)
    add("Gemm", "opset_9", [a, b, numbers("g9", (3,))], dict(alpha=1.5), opset=9)
    add("Gemm", "f16", [a, b, numbers("gh", (3,))], dtype="f16")


def folded(add):
    """Shape arithmetic, which must be gone before anything is planned; the last value is used so that there is an output."""
    x = numbers("fold", (2, 3, 4, 5))
    add("Shape", "whole", [x])
    add("Shape", "part", [x], dict(start=1, end=-1), opset=15)
    add("ConstantOfShape", "zeros", [np.array([2, 3], I64)], constants=(0,))
    add("ConstantOfShape", "value", [np.array([5], I64)], dict(value=np.array([1.5], F32)), constants=(0,))
    add("ConstantOfShape", "i64", [np.array([2, 2], I64)], dict(value=np.array([-7], I64)), constants=(0,))
    add("Constant", "tensor", [], dict(value=numbers("constant", (3, 5))))
    add("Constant", "float", [], dict(value_float=1.5), opset=13)
    add("Constant", "ints", [], dict(value_ints=[1, 2, 3]), opset=13)


def further(add):
    """Operators beyond those that the first models need: fewer cases each, with the attributes that change the meaning."""
    x = numbers("further", (3, 33), -3, 3)
    for op in ("Abs", "Ceil", "Floor", "Round", "Sign", "Softplus", "Softsign", "Elu", "Selu", "LeakyRelu", "ThresholdedRelu"):
        add(op, "f32", [x])
        add(op, "special", [np.where(np.isnan(SPECIAL), F32(0.25), SPECIAL)])  # what NaN gives is not said everywhere
        add(op, "f16", [x], dtype="f16")
    add("Round", "half_to_even", [np.arange(-4, 4, 0.5, F32)])
    add("Abs", "i32", [numbers("absi", (33,), -99, 99, I32)])
    add("Sign", "i64", [numbers("signi", (33,), -2, 2, I64)])
    add("Elu", "alpha", [x], dict(alpha=0.4))
    add("Selu", "attributes", [x], dict(alpha=1.2, gamma=0.9))
    add("LeakyRelu", "alpha", [x], dict(alpha=0.3))
    add("ThresholdedRelu", "alpha", [x], dict(alpha=0.7))
    add("Celu", "alpha", [x], dict(alpha=0.7))
    add("HardSwish", "f32", [x])
    add("Mish", "f32", [x], opset=18)
    add("Log", "f32", [numbers("log", (3, 33), 0.01, 9)])
    add("Log", "special", [np.array([0.0, -1.0, 1.0, np.inf, 1e-38], F32)])
    add("Gelu", "erf", [x], opset=20)
    add("Gelu", "tanh", [x], dict(approximate="tanh"), opset=20)
    add("PRelu", "row", [x, numbers("slope", (33,))])
    add("PRelu", "channel", [numbers("prelu", (2, 3, 4, 5)), numbers("slope2", (3, 1, 1))], constants=(1,))
    add("IsNaN", "special", [SPECIAL])
    for positive, negative in ((1, 1), (1, 0), (0, 1)):
        add("IsInf", f"positive{positive}_negative{negative}", [SPECIAL], dict(detect_positive=positive, detect_negative=negative), opset=10)
    add("CastLike", "i64", [x, np.array([1], I64)])
    add("Not", "masks", [numbers("not", (3, 33), dtype=bool)])
    for op in ("Or", "Xor"):
        add(op, "masks", [numbers(f"{op}a", (3, 33), dtype=bool), numbers(f"{op}b", (33,), dtype=bool)])
    for op in ("Greater", "GreaterOrEqual"):
        add(op, "f32", [np.round(x), np.round(numbers("gt", (33,), -3, 3))], opset=16)
        add(op, "nan", [SPECIAL, SPECIAL[::-1].copy()], opset=16)
        add(op, "i64", [numbers(f"{op}i", (33,), -3, 3, I64), numbers(f"{op}j", (33,), -3, 3, I64)], opset=16)
    add("Greater", "opset_9", [np.round(x), np.round(numbers("gt", (33,), -3, 3))], opset=9)
    for op in ("Min", "Mean", "Sum"):
        add(op, "three", [numbers(f"{op}{i}", s) for i, s in enumerate([(3, 5), (5,), (3, 1)])])
        add(op, "one", [numbers(f"{op}1", (33,))])
    special = np.stack(np.meshgrid(SPECIAL, SPECIAL)).astype(F32)
    add("Min", "special", [special[0], special[1]])
    add("Min", "i64", [numbers("mina", (33,), -99, 99, I64), numbers("minb", (33,), -99, 99, I64)])
    a, b = numbers("moda", (33,), -50, 50, I64), numbers("modb", (33,), 1, 9, I64)
    add("Mod", "python", [a, np.where(np.arange(33) % 2, b, -b)])
    add("Mod", "c", [a, np.where(np.arange(33) % 2, b, -b)], dict(fmod=1))
    add("Mod", "f32", [x, numbers("modf", (33,), 0.5, 2)], dict(fmod=1))
    for direction in ("LEFT", "RIGHT"):
        add("BitShift", direction.lower(), [numbers("shift", (33,), 0, 255, U8), numbers("by", (33,), 0, 7, U8)], dict(direction=direction))
    for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
        add(op, "i32", [numbers(f"{op}a", (3, 33), -999, 999, I32), numbers(f"{op}b", (33,), -999, 999, I32)], opset=18)
    add("BitwiseNot", "i32", [numbers("bnot", (33,), -999, 999, I32)], opset=18)

    y = numbers("further3", (3, 4, 7))
    for op in ("ReduceL1", "ReduceLogSum", "ReduceLogSumExp", "ReduceMin", "ReduceProd", "ReduceSumSquare"):
        z = np.abs(y) + F32(0.1) if op == "ReduceLogSum" else y
        for axes in ([0], [1], [-1], [0, 2]):
            add(op, "axes" + "_".join(map(str, axes)), [z], dict(axes=axes), opset=13)
        add(op, "all_dropped", [z], dict(keepdims=0), opset=13)
        add(op, "opset_18", [z, np.array([1], I64)], constants=(1,), opset=18)
    for op in ("ArgMax", "ArgMin"):
        ties = np.round(numbers(f"{op}t", (5, 33)))
        add(op, "last", [y], dict(axis=-1))
        add(op, "first_axis_dropped", [y], dict(axis=0, keepdims=0))
        add(op, "first_of_equals", [ties], dict(axis=1))
        add(op, "last_of_equals", [ties], dict(axis=1, select_last_index=1))
        add(op, "long_row", [numbers(f"{op}l", (2, 777))], dict(axis=1))
    add("Hardmax", "f32", [numbers("hm", (5, 33))], dict(axis=-1))
    for p in (1, 2):
        add("LpNormalization", f"p{p}", [numbers("lp", (5, 33))], dict(p=p, axis=-1))
    add("GroupNormalization", "f32", [numbers("gn", (2, 6, 5, 7)), numbers("gng", (6,)), numbers("gnb", (6,))], dict(num_groups=3), opset=21)
    add("RMSNormalization", "f32", [numbers("rms", (5, 33)), numbers("rmsg", (33,))], opset=23)

    add("MaxPool", "plain", [numbers("mp", (2, 3, 11, 13))], dict(kernel_shape=[3, 3]), opset=11)
    add("MaxPool", "padded_strided", [numbers("mp", (2, 3, 11, 13), -3, -1)], dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]), opset=11)
    add("MaxPool", "ceil_dilated", [numbers("mp", (2, 3, 11, 13))], dict(kernel_shape=[2, 2], strides=[2, 3], dilations=[2, 1], ceil_mode=1), opset=11)
    add("MaxPool", "one_dimension", [numbers("mp1", (2, 3, 33))], dict(kernel_shape=[4], strides=[3]), opset=11)

    add("Flatten", "axis1", [numbers("fl", (2, 3, 4, 5))])
    for axis in (0, 2, 4, -1):
        add("Flatten", f"axis{axis}", [numbers("fl", (2, 3, 4, 5))], dict(axis=axis))
    add("Dropout", "inference", [x], opset=12)
    add("Tile", "f32", [numbers("tile", (2, 3)), np.array([3, 2], I64)], constants=(1,))
    for upper in (0, 1):
        add("Trilu", f"upper{upper}", [numbers("trilu", (2, 5, 7))], dict(upper=upper))
        add("Trilu", f"upper{upper}_shifted", [numbers("trilu", (2, 5, 7)), np.array(-1, I64)], dict(upper=upper), constants=(1,))
    for mode in ("DCR", "CRD"):
        add("DepthToSpace", mode, [numbers("d2s", (2, 8, 3, 5))], dict(blocksize=2, mode=mode))
    add("SpaceToDepth", "f32", [numbers("s2d", (2, 3, 4, 6))], dict(blocksize=2))
    add("EyeLike", "f32", [numbers("eye", (5, 7))])
    add("EyeLike", "shifted", [numbers("eye", (5, 7))], dict(k=-2))
    add("GatherElements", "rows", [numbers("ge", (5, 7)), numbers("gei", (3, 7), -5, 4, I64)], dict(axis=0))
    add("GatherElements", "last", [numbers("ge", (5, 7)), numbers("gej", (5, 4), 0, 6, I64)], dict(axis=1))
    add("GatherND", "points", [numbers("gnd", (5, 7, 3)), numbers("gndi", (4, 2), 0, 4, I64)])
    add("GatherND", "batch", [numbers("gnd", (5, 7, 3)), numbers("gndj", (5, 2, 1), -7, 6, I64)], dict(batch_dims=1))
    add("OneHot", "last", [numbers("oh", (3, 5), -9, 8, I64), np.array(9, I64), np.array([0.0, 1.0], F32)], constants=(1, 2))
    add("OneHot", "first_axis", [numbers("oh", (3, 5), 0, 8, I64), np.array(9, I64), np.array([-1, 2], I64)], dict(axis=0), constants=(1, 2))
    add("Range", "i64", [np.array(3, I64), np.array(20, I64), np.array(4, I64)], constants=(0, 1, 2))
    add("Range", "f32_down", [F32(2), F32(-1), F32(-0.5)], constants=(0, 1, 2))
    add("Size", "f32", [numbers("size", (3, 5))])


# --- scans, sorts and scatters --------------------------------------------------------------------------------------------
def ordered(add):
    x = numbers("cumsum", (3, 5, 33))
    for axis in (0, 1, 2, -1):
        add("CumSum", f"axis{axis}", [x, np.array(axis, I64)], constants=(1,), opset=14)
    for exclusive, reverse in ((0, 1), (1, 0), (1, 1)):
        for axis in (0, 2):
            add("CumSum", f"exclusive{exclusive}_reverse{reverse}_axis{axis}", [x, np.array(axis, I32)],
                dict(exclusive=exclusive, reverse=reverse), constants=(1,), opset=11)
    for shape in ((1,), (31,), (777,), (33, 1), (1, 33), (2, 1, 3, 4)):
        for reverse in (0, 1):
            add("CumSum", f"{text(shape)}_reverse{reverse}", [numbers(f"cs{shape}", shape), np.array(-1, I64)],
                dict(exclusive=1 - reverse, reverse=reverse), constants=(1,), opset=14)
    add("CumSum", "special", [np.array([1, np.inf, 2, -np.inf, 3, np.nan, 4], F32), np.array(0, I64)], constants=(1,), opset=14)
    for dtype in ("f16", "bf16"):
        add("CumSum", dtype, [x, np.array(1, I64)], constants=(1,), opset=14, dtype=dtype)
    add("CumSum", "f64", [numbers("csd", (5, 9), dtype=F64), np.array(1, I64)], constants=(1,), opset=14)
    add("CumSum", "i32_wraps", [numbers("csi", (5, 33), -(2**31), 2**31 - 1, I32), np.array(1, I64)], constants=(1,), opset=14)
    add("CumSum", "i64", [numbers("csl", (33, 5), -99, 99, I64), np.array(0, I64)], constants=(1,), opset=14)

    y = numbers("topk", (3, 33, 5))
    for axis in (0, 1, 2, -1):
        k = np.array([2], I64)
        for largest in (0, 1):
            add("TopK", f"axis{axis}_largest{largest}", [y, k], dict(axis=axis, largest=largest), constants=(1,), opset=11, outputs=2)
    add("TopK", "opset_9", [y], dict(axis=1, k=3), opset=9, outputs=2)
    add("TopK", "opset_10", [y, np.array([33], I64)], dict(axis=1), constants=(1,), opset=10, outputs=2)
    ties = np.round(numbers("topkt", (5, 33)))
    for largest in (0, 1):
        add("TopK", f"ties_largest{largest}", [ties, np.array([17], I64)], dict(largest=largest), constants=(1,), opset=11, outputs=2)
    add("TopK", "all_of_a_long_row", [numbers("topkl", (2, 777)), np.array([777], I64)], constants=(1,), opset=11, outputs=2)
    add("TopK", "one_of_one", [numbers("topk1", (3, 1)), np.array([1], I64)], constants=(1,), opset=11, outputs=2)
    add("TopK", "infinities", [np.array([1, np.inf, 2, -np.inf, np.inf, 0, -0.0], F32), np.array([7], I64)], constants=(1,), opset=11, outputs=2)
    add("TopK", "f64", [numbers("topkd", (5, 9), dtype=F64), np.array([4], I64)], constants=(1,), opset=11, outputs=2)
    for name, dtype in (("i32", I32), ("i64", I64)):
        add("TopK", name, [numbers(f"topk{name}", (5, 33), -20, 20, dtype), np.array([9], I64)], constants=(1,), opset=11, outputs=2)


def scatters(add):
    def places(key, shape, extent, distinct_along=None):
        """Indices below `extent`, some of them negative; without repetition along one axis."""
        if distinct_along is None:
            found = numbers(key, shape, 0, extent - 1, I64)
        else:
            order = np.argsort(numbers(key, shape[:distinct_along] + (extent,) + shape[distinct_along + 1:]), axis=distinct_along)
            found = np.take(order, range(shape[distinct_along]), axis=distinct_along).astype(I64)
        return np.where(numbers(key + "sign", shape, 0, 1, I64) == 1, found - extent, found)

    data = numbers("scatter", (7, 9, 5))
    for axis, shape in ((0, (4, 9, 5)), (1, (7, 6, 3)), (2, (2, 3, 5)), (-1, (7, 9, 1))):
        at = places(f"se{axis}", shape, data.shape[axis], axis % 3)
        add("ScatterElements", f"axis{axis}", [data, at, numbers(f"seu{axis}", shape)], dict(axis=axis), opset=13)
        add("ScatterElements", f"axis{axis}_constant_indices", [data, at, numbers(f"seu{axis}", shape)], dict(axis=axis), constants=(1,), opset=16)
    row, at = numbers("se9", (33,)), np.abs(places("se9i", (5,), 33, 0))
    add("Scatter", "opset_9", [row, at, numbers("se9u", (5,))], opset=9)
    add("ScatterElements", "opset_11_i32", [row, at.astype(I32), numbers("se9u", (5,))], opset=11)
    add("ScatterElements", "last_of_the_same_place_wins", [row, np.array([3, 5, 3, 5, 3], I64), numbers("se9u", (5,))], opset=13)
    for name, dtype in (("i64", I64), ("i32", I32), ("u8", U8)):
        add("ScatterElements", name, [numbers(f"se{name}", (33,), 0, 99, dtype), at, numbers(f"seu{name}", (5,), 0, 99, dtype)], opset=13)
    add("ScatterElements", "bool", [numbers("seb", (33,), dtype=bool), at, numbers("sebu", (5,), dtype=bool)], opset=13)
    for dtype in ("f16", "bf16"):
        add("ScatterElements", dtype, [row, at, numbers("seh", (5,))], opset=13, dtype=dtype)
    for reduction, opset in (("add", 16), ("mul", 16), ("min", 18), ("max", 18)):
        for axis, shape in ((0, (11, 9, 5)), (2, (7, 9, 6))):
            add("ScatterElements", f"{reduction}_axis{axis}", [data, places(f"ser{axis}", shape, data.shape[axis]), numbers(f"seru{axis}", shape)],
                dict(axis=axis, reduction=reduction), opset=opset)
        add("ScatterElements", f"{reduction}_i32", [numbers("seri", (33,), -9, 9, I32), places("serj", (50,), 33), numbers("serk", (50,), -3, 3, I32)],
            dict(reduction=reduction), opset=opset)
        add("ScatterElements", f"{reduction}_f16", [row, places("serj", (50,), 33), numbers("serh", (50,))],
            dict(reduction=reduction), opset=opset, dtype="f16")

    table = numbers("snd", (6, 7, 5))
    unique = np.stack(np.divmod(np.argsort(numbers("sndi", (42,)))[:8], 7), axis=-1).astype(I64)
    signed = np.where(np.arange(8)[:, None] % 3 == 0, unique - np.array([6, 7]), unique)
    add("ScatterND", "points", [table, np.concatenate([signed, places("sndk", (8, 1), 5)], axis=1), numbers("sndu", (8,))], opset=11)
    add("ScatterND", "rows", [table, signed, numbers("sndr", (8, 5))], opset=13)
    add("ScatterND", "matrices", [table, np.array([[[4], [0]], [[-1], [2]]], I64), numbers("sndm", (2, 2, 7, 5))], opset=16)
    add("ScatterND", "one_update", [table, np.array([3, 2], I64), numbers("snd1", (5,))], opset=13)
    add("ScatterND", "constant_indices", [table, signed, numbers("sndr", (8, 5))], constants=(1,), opset=13)
    grid = np.stack(np.meshgrid(range(2, 5), range(1, 7), range(5), indexing="ij"), axis=-1).astype(I64)
    add("ScatterND", "assigns_a_slice", [table, grid, numbers("snds", (3, 6, 5))], constants=(1,), opset=13)
    add("ScatterND", "assigns_every_second_row", [table, np.array([[0], [2], [4]], I64), numbers("snd2", (3, 7, 5))], constants=(1,), opset=13)
    add("ScatterND", "i64", [numbers("sndl", (9,), -9, 9, I64), np.array([[3], [-1], [0]], I64), np.array([1, 2, 3], I64)], opset=13)
    add("ScatterND", "bool", [numbers("sndb", (9, 3), dtype=bool), np.array([[3], [-1], [0]], I64), numbers("sndbu", (3, 3), dtype=bool)], opset=13)
    for dtype in ("f16", "bf16"):
        add("ScatterND", dtype, [table, unique, numbers("sndr", (8, 5))], opset=16, dtype=dtype)
    for reduction, opset in (("add", 16), ("mul", 16), ("min", 18), ("max", 18)):
        repeated = np.stack([places("snda", (20,), 6), places("sndb", (20,), 7)], axis=-1)
        add("ScatterND", f"{reduction}_rows", [table, repeated, numbers("sndv", (20, 5))], dict(reduction=reduction), opset=opset)
        add("ScatterND", f"{reduction}_i32", [numbers("sndx", (33,), -9, 9, I32), places("sndy", (50, 1), 33), numbers("sndz", (50,), -3, 3, I32)],
            dict(reduction=reduction), opset=opset)


# --- resizing and sums of products ----------------------------------------------------------------------------------------
def resizes(add):
    x = numbers("resize", (2, 3, 7, 9))

    def scaled(name, scales, attributes, data=x, opset=13, **more):
        add("Resize", name, [data, np.array([], F32) if opset == 11 else None, np.array(scales, F32)], attributes, constants=(1, 2) if opset == 11 else (2,), opset=opset, **more)

    def sized(name, sizes, attributes, data=x, opset=13, **more):
        add("Resize", name, [data, None, None, np.array(sizes, I64)], attributes, constants=(3,), opset=opset, **more)

    for mode in ("nearest", "linear", "cubic"):
        for transformation in ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"):
            scaled(f"{mode}_{transformation}_up", [1, 1, 2, 3], dict(mode=mode, coordinate_transformation_mode=transformation))
            sized(f"{mode}_{transformation}_mixed", [2, 3, 4, 13], dict(mode=mode, coordinate_transformation_mode=transformation))
            scaled(f"{mode}_{transformation}_down", [1, 1, 0.5, 0.6], dict(mode=mode, coordinate_transformation_mode=transformation), opset=11)
        sized(f"{mode}_symmetric", [2, 3, 5, 13], dict(mode=mode, coordinate_transformation_mode="half_pixel_symmetric"), opset=19)
        sized(f"{mode}_to_one", [2, 3, 1, 1], dict(mode=mode))
        if mode != "cubic":
            add("Resize", f"{mode}_crop", [x, np.array([0, 0, 0.2, 0.3, 1, 1, 0.8, 1.2], F32), None, np.array([2, 3, 5, 8], I64)],
                dict(mode=mode, coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=7.0), constants=(1, 3), opset=13)
    for nearest in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
        sized(f"nearest_{nearest}", [2, 3, 5, 22], dict(nearest_mode=nearest))
        scaled(f"nearest_{nearest}_asymmetric", [1, 1, 2, 0.75], dict(nearest_mode=nearest, coordinate_transformation_mode="asymmetric"))
    scaled("cubic_excludes_the_outside", [1, 1, 1.5, 2], dict(mode="cubic", exclude_outside=1))
    scaled("cubic_coefficient", [1, 1, 1.5, 2], dict(mode="cubic", cubic_coeff_a=-0.5))
    scaled("linear_one_dimension", [1, 1, 2.5], dict(mode="linear"), numbers("resize1", (2, 3, 33)))
    scaled("linear_three_dimensions", [1, 1, 2, 1.5, 2], dict(mode="linear"), numbers("resize3", (1, 2, 3, 4, 5)))
    scaled("nearest_of_one", [1, 1, 4, 4], {}, numbers("resize11", (1, 2, 1, 1)))
    scaled("nearest_u8", [1, 1, 2, 2], {}, numbers("resizeu", (1, 2, 3, 5), 0, 255, U8))
    scaled("nearest_i32", [2, 3], {}, numbers("resizei", (3, 5), -99, 99, I32))
    for dtype in ("f16", "bf16"):
        for mode in ("nearest", "linear"):
            sized(f"{mode}_{dtype}", [2, 3, 14, 18], dict(mode=mode), dtype=dtype)
    add("Resize", "opset_10_up", [x, np.array([1, 1, 2, 3], F32)], constants=(1,), opset=10)
    add("Resize", "opset_10_linear", [x, np.array([1, 1, 2, 3], F32)], dict(mode="linear"), constants=(1,), opset=10)
    add("Resize", "opset_10_down", [x, np.array([1, 1, 0.5, 0.6], F32)], constants=(1,), opset=10)
    add("Upsample", "nearest", [x, np.array([1, 1, 2, 3], F32)], constants=(1,), opset=9)
    add("Upsample", "linear", [x, np.array([1, 1, 2, 3], F32)], dict(mode="linear"), constants=(1,), opset=9)
    for policy in ("not_larger", "not_smaller"):
        add("Resize", policy, [x, None, None, np.array([11, 20], I64)], dict(mode="linear", axes=[2, 3], keep_aspect_ratio_policy=policy),
            constants=(3,), opset=18)
    add("Resize", "axes", [x, None, np.array([2, 1.5], F32)], dict(mode="nearest", axes=[3, 1]), constants=(2,), opset=18)


def einsums(add):
    def contracted(name, equation, *shapes, **more):
        add("Einsum", name, [numbers(f"{name}{i}", shape) for i, shape in enumerate(shapes)], dict(equation=equation), **more)

    contracted("matrix_product", "ij,jk->ik", (5, 7), (7, 3))
    contracted("attention_scores", "bqhd,bkhd->bhqk", (2, 5, 3, 8), (2, 6, 3, 8))
    contracted("attention_values", "bhqk,bkhd->bqhd", (2, 3, 5, 6), (2, 6, 3, 8))
    contracted("linear_of_heads", "...d,hdk->...hk", (2, 5, 12), (3, 12, 4))
    contracted("implicit", "kj,ik", (7, 3), (5, 7))
    contracted("spaces", " i j , j k -> k i ", (5, 7), (7, 3))
    contracted("batch_of_ellipsis", "...ij,...jk->...ik", (2, 3, 5, 7), (2, 3, 7, 4))
    contracted("dot", "i,i->", (33,), (33,))
    contracted("rows_dot", "bi,bi->b", (5, 33), (5, 33))
    contracted("outer", "i,j->ij", (31,), (7,))
    contracted("elementwise", "ij,ij->ji", (5, 7), (5, 7))
    contracted("transpose", "ijk->kij", (3, 5, 7))
    contracted("sum", "ijk->j", (3, 5, 7))
    contracted("trace", "ii->", (7, 7))
    contracted("diagonal", "bii->bi", (3, 7, 7))
    contracted("three", "ij,jk,kl->il", (3, 5), (5, 7), (7, 4))
    contracted("three_share", "bi,bj,bk->ijk", (5, 3), (5, 4), (5, 6))
    contracted("sums_before", "ija,kb->ik", (3, 5, 7), (4, 6))
    contracted("f16", "bqd,bkd->bqk", (2, 5, 8), (2, 6, 8), dtype="f16")
    add("Einsum", "i64", [numbers("ei", (5, 7), -9, 9, I64), numbers("ej", (7, 3), -9, 9, I64)], dict(equation="ij,jk->ik"))
    add("ReverseSequence", "time_first", [numbers("rev", (7, 4, 3)), np.array([7, 1, 3, 4], I64)])
    add("ReverseSequence", "batch_first", [numbers("rev", (4, 7)), np.array([7, 1, 3, 4], I64)], dict(time_axis=1, batch_axis=0))
    add("ReverseSequence", "constant_lengths", [numbers("rev", (4, 7)), np.array([7, 1, 3, 4], I64)], dict(time_axis=1, batch_axis=0), constants=(1,))


# --- what is spread, or written into a cache ------------------------------------------------------------------------------
def spreads(add):
    def transposed(name, shape, weight, attributes, group=1, bias=True, **more):
        tensors = [numbers(f"ct{name}", shape), numbers(f"ctw{name}", weight, -0.5, 0.5)]
        add("ConvTranspose", name, tensors + ([numbers(f"ctb{name}", (weight[1] * group,))] if bias else []), dict(attributes, group=group), **more)

    transposed("plain", (2, 3, 5, 6), (3, 4, 3, 3), {})
    transposed("no_bias", (2, 3, 5, 6), (3, 4, 3, 3), {}, bias=False)
    transposed("doubles", (1, 3, 5, 6), (3, 2, 2, 2), dict(strides=[2, 2]))
    transposed("padded_strided", (1, 3, 5, 6), (3, 2, 4, 3), dict(strides=[2, 3], pads=[1, 0, 1, 2]))
    transposed("output_padding", (1, 2, 4, 4), (2, 3, 3, 3), dict(strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 1]))
    transposed("output_shape", (1, 2, 4, 4), (2, 3, 3, 3), dict(strides=[2, 2], output_shape=[8, 9]), opset=11)
    transposed("dilated", (1, 2, 5, 5), (2, 3, 3, 2), dict(dilations=[2, 3]))
    transposed("grouped", (1, 6, 4, 5), (6, 2, 3, 3), dict(strides=[2, 1]), group=3)
    transposed("one_dimension", (2, 3, 9), (3, 4, 5), dict(strides=[3]))
    transposed("three_dimensions", (1, 2, 3, 4, 3), (2, 2, 2, 3, 2), dict(strides=[2, 1, 2]))
    for pad in ("SAME_UPPER", "SAME_LOWER", "VALID"):
        transposed(pad.lower(), (1, 2, 5, 4), (2, 3, 3, 3), dict(strides=[2, 2], auto_pad=pad), opset=11)
    transposed("f16", (1, 3, 5, 6), (3, 4, 3, 3), dict(strides=[2, 2]), dtype="f16")
    for name, image, block, attributes in (("plain", (5, 6), (2, 3), {}), ("strided", (6, 6), (2, 2), dict(strides=[2, 2])),
                                           ("padded_dilated", (7, 6), (3, 2), dict(dilations=[2, 1], pads=[1, 0, 1, 1])),
                                           ("one_dimension", (9,), (4,), dict(strides=[2])), ("three_dimensions", (3, 4, 5), (2, 2, 3), {})):
        n = len(image)
        pads, strides, dilations = (attributes.get(k, [f] * m) for k, f, m in (("pads", 0, 2 * n), ("strides", 1, n), ("dilations", 1, n)))
        places = np.prod([(image[i] + pads[i] + pads[i + n] - dilations[i] * (block[i] - 1) - 1) // strides[i] + 1 for i in range(n)])
        add("Col2Im", name, [numbers(f"c2i{name}", (2, 3 * int(np.prod(block)), int(places))), np.array(image, I64), np.array(block, I64)], attributes,
            constants=(1, 2), opset=18)
    x = numbers("ccp", (3, 10, 7))
    for name, shape, axes in (("crops", [3, 5, 4], None), ("pads", [4, 13, 9], None), ("both", [6, 12], [1, 2]), ("negative_axis", [4], [-1])):
        add("CenterCropPad", name, [x, np.array(shape, I64)], {} if axes is None else dict(axes=axes), constants=(1,), opset=18)

    cache, update = numbers("ts", (2, 3, 9, 4)), numbers("tsu", (2, 3, 3, 4))
    add("TensorScatter", "linear", [cache, update, np.array([6, 2], I64)], opset=24)
    add("TensorScatter", "circular", [cache, update, np.array([7, 2], I64)], dict(mode="circular"), opset=24)
    add("TensorScatter", "one_token", [cache, numbers("tsv", (2, 3, 1, 4)), np.array([8, 0], I64)], dict(mode="circular"), opset=24)
    add("TensorScatter", "from_the_start", [cache, update], opset=24)
    add("TensorScatter", "other_axis", [numbers("ts3", (3, 5, 6)), numbers("ts3u", (3, 5, 2)), np.array([0, 1, 4], I64)], dict(axis=-1), opset=24)
