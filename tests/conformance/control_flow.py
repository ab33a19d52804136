"""Cases of nodes with bodies: Loop, Scan, If. A body is ONNX's text form; it reads the node's captured inputs as c0, c1 ..."""
import numpy as np
import onnx.parser

F32, F16, I64, I32, U8 = np.float32, np.float16, np.int64, np.int32, np.uint8
COUNT, TRUE = 0, 1  # positions of a Loop's trip count and condition


def body(text):
    return onnx.parser.parse_graph("body " + text)


def define_control_flow(add, numbers):
    def loop(name, trips, condition, carried, text, constants=(COUNT, TRUE), **more):
        inputs = [None if trips is None else np.array(trips, I64), None if condition is None else np.array(condition, bool), *carried]
        add("Loop", name, inputs, dict(body=body(text)), constants=constants, opset=more.pop("opset", 16), **more)

    x3, c3 = numbers("loopx", (3,)), numbers("loopc", (3,))
    step = "(int64 i, bool go, float[3] v) => (bool go2, float[3] v2, float[3] s) { go2 = Identity(go) v2 = Add(v, c0) s = Mul(v2, v2) }"
    for trips in (0, 1, 2, 5, 100):
        loop(f"trips{trips}", trips, True, [x3], step, captured=[c3], outputs=2)
    loop("never", 4, False, [x3], step, captured=[c3], outputs=2)
    loop("no_condition", 4, None, [x3], step, captured=[c3], outputs=2, constants=(COUNT,))
    for opset in (9, 11, 13, 21):
        loop(f"opset{opset}", 3, True, [x3], step, captured=[c3], outputs=2, opset=opset)
    loop("trip_number", 6, True, [x3], "(int64 i, bool go, float[3] v) => (bool go2, float[3] v2, int64[1] s)"
         "{ go2 = Identity(go) f = Cast<to = 1>(i) v2 = Add(v, f) one = Constant<value_ints = [1]>() s = Reshape(i, one) }", outputs=2)
    loop("fibonacci", 20, True, [np.array([0], I64), np.array([1], I64)], "(int64 i, bool go, int64[1] a, int64[1] b) => (bool go2, int64[1] b, int64[1] n, int64[1] a)"
         "{ go2 = Identity(go) n = Add(a, b) }", outputs=3)
    loop("rotate", 7, True, [numbers(f"rot{i}", (5,)) for i in range(3)], "(int64 i, bool go, float[5] a, float[5] b, float[5] c) => (bool go2, float[5] b, float[5] c, float[5] a)"
         "{ go2 = Identity(go) }", outputs=3)
    loop("never_changes", 7, True, [x3, x3 + 1], "(int64 i, bool go, float[3] a, float[3] b) => (bool go2, float[3] a, float[3] b2) { go2 = Identity(go) b2 = Mul(a, b) }", outputs=2)
    loop("collected_before", 5, True, [x3], "(int64 i, bool go, float[3] v) => (bool go2, float[3] v2, float[3] v) { go2 = Identity(go) v2 = Mul(v, c0) }", captured=[c3], outputs=2)
    loop("collected_twice", 5, True, [x3], "(int64 i, bool go, float[3] v) => (bool go2, float[3] v2, float[3] v2, float[3] v2)"
         "{ go2 = Identity(go) v2 = Mul(v, c0) }", captured=[c3], outputs=3)
    loop("collected_constant", 4, True, [x3], "(int64 i, bool go, float[3] v) => (bool go2, float[3] v2, float[2] k)"
         "{ go2 = Identity(go) v2 = Mul(v, c0) k = Constant<value_floats = [1.5, 2.5]>() }", captured=[c3], outputs=2)
    loop("collected_captured", 4, True, [x3], "(int64 i, bool go, float[3] v) => (bool go2, float[3] v2, float[3] k) { go2 = Identity(go) v2 = Mul(v, c0) k = Identity(c0) }", captured=[c3], outputs=2)
    loop("collected_view", 4, True, [numbers("lv", (2, 6))], "(int64 i, bool go, float[2,6] v) => (bool go2, float[2,6] v2, float[3,4] w)"
         "{ go2 = Identity(go) v2 = Mul(v, c0) shape = Constant<value_ints = [3, 4]>() w = Reshape(v2, shape) }", captured=[numbers("lvc", (6,))], outputs=2)
    loop("product", 6, True, [numbers("lp", (4, 8))], "(int64 i, bool go, float[4,8] v) => (bool go2, float[4,8] v2, float[4,8] v2)"
         "{ go2 = Identity(go) p = MatMul(v, c0) q = Add(p, c1) v2 = Tanh(q) }", captured=[numbers("lpw", (8, 8), -0.5, 0.5), numbers("lpb", (8,))], outputs=2)
    loop("softmax", 3, True, [numbers("ls", (5, 33))], "(int64 i, bool go, float[5,33] v) => (bool go2, float[5,33] v2, float[5,33] s)"
         "{ go2 = Identity(go) s = Softmax<axis = -1>(v) v2 = Sub(v, s) }", outputs=2)
    loop("same_in_every_trip", 4, True, [numbers("li", (4, 5))], "(int64 i, bool go, float[4,5] v) => (bool go2, float[4,5] v2)"
         "{ go2 = Identity(go) p = MatMul(c0, c1) t = Transpose<perm = [1, 0]>(p) e = Exp(c1) r = ReduceSum<keepdims = 0>(e) v1 = Add(v, t) v2 = Mul(v1, r) }",
         captured=[numbers("lia", (5, 3)), numbers("lib", (3, 4), -0.5, 0.1)], outputs=1)
    loop("slice_by_trip", 5, True, [x3], "(int64 i, bool go, float[3] v) => (bool go2, float[3] v2) { go2 = Identity(go) g = Gather(c0, i) v2 = Add(v, g) }",
         captured=[numbers("lg", (5, 3))], outputs=1)
    loop("initial_is_computed_and_read", 3, True, [x3], "(int64 i, bool go, float[3] v) => (bool go2, float[3] v2, float[3] d) { go2 = Identity(go) v2 = Mul(v, v) d = Sub(v2, c0) }",
         captured=[c3], outputs=2)
    for dtype, name, shape in ((F16, "float16", (7,)), (I32, "int32", (5,)), (U8, "uint8", (3,)), (F32, "float", ()), (F32, "float", (0,)), (F32, "float", (777,)),
                               (F32, "float", (3, 31)), (F32, "float", (4, 16))):
        dims = "" if shape == () else str(list(shape)).replace(" ", "")
        of = f"{name}{dims}"
        high = 2 if dtype is F32 else 9
        loop(f"{name}_{'x'.join(map(str, shape)) or 'scalar'}", 4, True, [numbers(f"lt{of}", shape, 0, high, dtype if dtype is not F16 else I32).astype(dtype)],
             f"(int64 i, bool go, {of} v) => (bool go2, {of} v2, {of} v2, {of} s) {{ go2 = Identity(go) v2 = Add(v, c0) s = Add(v2, c0) }}",
             captured=[numbers(f"lc{of}", shape, 0, high, dtype if dtype is not F16 else I32).astype(dtype)], outputs=3)
    until = "(int64 i, bool go, float[3] v) => (bool go2, float[3] v2) { v2 = Add(v, c0) s = ReduceSum<keepdims = 0>(v2) go2 = Less(s, c1) }"
    positive = np.abs(c3) + F32(0.1)
    for limit in (-9.0, 3.0, 11.0, 1e9):
        loop(f"until_{limit:g}", 12, True, [x3], until, captured=[positive, np.array(limit, F32)], outputs=1)
    for enters in (True, False):
        loop(f"computed_condition_{enters}", 5, enters, [x3], until, captured=[positive, np.array(3, F32)], outputs=1, constants=(COUNT,))
        loop(f"computed_entry_{enters}", 5, enters, [x3], "(int64 i, bool go, float[3] v) => (bool go2, float[3] v2) { go2 = Identity(go) v2 = Add(v, c0) }",
             captured=[c3], outputs=1, constants=(COUNT,))
    loop("stops_at_once", None, True, [x3], "(int64 i, bool go, float[3] v) => (bool no, float[3] v2) { no = Constant<value = bool {0}>() v2 = Add(v, c0) }",
         captured=[c3], outputs=1, constants=(TRUE,))
    inner = "inner (int64 j, bool go3, float[3] w) => (bool go4, float[3] w2, float[3] t) { go4 = Identity(go3) w1 = Mul(w, c0) w2 = Add(w1, v) t = Sub(w2, c0) }"
    loop("nested", 4, True, [x3], "(int64 i, bool go, float[3] v) => (bool go2, float[3] v2, float[3,3] t3)"
         f"{{ go2 = Identity(go) three = Constant<value = int64 {{3}}>() v2, t3 = Loop<body = {inner}>(three, go, v) }}", captured=[c3 * F32(0.5)], outputs=2)
    loop("nested_by_trip", 4, True, [x3], "(int64 i, bool go, float[3] v) => (bool go2, float[3] v2)"
         "{ go2 = Identity(go) three = Constant<value = int64 {3}>() v2 = Loop<body = inner (int64 j, bool go3, float[3] w) => (bool go4, float[3] w2)"
         "{ go4 = Identity(go3) k = Add(i, j) f = Cast<to = 1>(k) w1 = Mul(w, c0) w2 = Add(w1, f) }>(three, go, v) }", captured=[c3 * F32(0.5)], outputs=1)
    loop("with_if", 6, True, [x3], "(int64 i, bool go, float[3] v) => (bool go2, float[3] v2)"
         "{ go2 = Identity(go) two = Constant<value = int64 {2}>() r = Mod(i, two) odd = Cast<to = 9>(r) v2 = If<"
         "then_branch = t () => (float[3] p) { p = Add(v, c0) }, else_branch = e () => (float[3] q) { q = Mul(v, c0) }>(odd) }", captured=[c3], outputs=1)

    def scan(name, states, scans, text, attributes=None, **more):
        add("Scan", name, [*states, *scans], dict(body=body(text), num_scan_inputs=len(scans), **(attributes or {})), opset=more.pop("opset", 16), **more)

    total = "(float[4] s, float[4] x) => (float[4] s2, float[4] y) { s2 = Add(s, x) y = Identity(s2) }"
    s4, x4 = numbers("scans", (4,)), numbers("scanx", (7, 4))
    for opset in (9, 11, 16, 21):
        scan(f"sum_opset{opset}", [s4], [x4], total, outputs=2, opset=opset)
    for backward in ((1, 0), (0, 1), (1, 1)):
        scan(f"directions{backward[0]}{backward[1]}", [s4], [x4], total, dict(scan_input_directions=[backward[0]], scan_output_directions=[backward[1]]), outputs=2)
    for axis in (1, -1):
        scan(f"input_axis{axis}", [s4], [x4.T.copy()], total, dict(scan_input_axes=[axis]), outputs=2)
        scan(f"output_axis{axis}", [s4], [x4], total, dict(scan_output_axes=[axis]), outputs=2)
    scan("one_slice", [s4], [x4[:1]], total, outputs=2)
    scan("no_state", [], [x4, x4 + 1], "(float[4] a, float[4] b) => (float[4] y, float z) { y = Mul(a, b) z = ReduceSum<keepdims = 0>(y) }", outputs=2)
    scan("two_states", [s4, s4 + 1], [x4, numbers("scanz", (7, 1))], "(float[4] s, float[4] p, float[4] x, float[1] z) => (float[4] s2, float[4] p2, float[4] y, float[1] w)"
         "{ s2 = Add(s, x) p1 = Mul(p, z) p2 = Add(p1, s2) y = Sub(p2, s2) w = ReduceMax<axes = [0]>(y) }", outputs=4)
    scan("cell", [numbers("sch", (2, 16))], [numbers("scx", (9, 2, 8))], "(float[2,16] h, float[2,8] x) => (float[2,16] h2, float[2,16] y)"
         "{ a = MatMul(x, c0) b = MatMul(h, c1) c = Add(a, b) h2 = Tanh(c) y = Identity(h2) }", outputs=2,
         captured=[numbers("scw", (8, 16), -0.5, 0.5), numbers("scr", (16, 16), -0.5, 0.5)])
    scan("cell_backward", [numbers("sch", (2, 16))], [numbers("scx", (9, 2, 8))], "(float[2,16] h, float[2,8] x) => (float[2,16] h2, float[2,16] y)"
         "{ a = MatMul(x, c0) b = MatMul(h, c1) c = Add(a, b) h2 = Tanh(c) y = Identity(h2) }", dict(scan_input_directions=[1], scan_output_directions=[1]), outputs=2,
         captured=[numbers("scw", (8, 16), -0.5, 0.5), numbers("scr", (16, 16), -0.5, 0.5)])
    add("Scan", "opset8", [None, numbers("s8s", (3, 4)), numbers("s8x", (3, 5, 4))], dict(body=body(total), num_scan_inputs=1), opset=8, outputs=2)
    add("Scan", "opset8_backward", [None, numbers("s8s", (3, 4)), numbers("s8x", (3, 5, 4))], dict(body=body(total), num_scan_inputs=1, directions=[1]), opset=8, outputs=2)

    def branch(name, condition, then, otherwise, constant=False, **more):
        add("If", name, [np.array(condition, bool)], dict(then_branch=body(then), else_branch=body(otherwise)), constants=(0,) if constant else (), opset=more.pop("opset", 16), **more)

    a, b = numbers("ifa", (5, 7)), numbers("ifb", (5, 7))
    for condition in (True, False):
        for constant in (True, False):
            how = f"{'known' if constant else 'computed'}_{condition}"
            branch(how, condition, "() => (float[5,7] y) { y = Add(c0, c1) }", "() => (float[5,7] y) { y = Mul(c0, c1) }", constant, captured=[a, b])
            branch(f"captured_{how}", condition, "() => (float[5,7] y) { y = Identity(c0) }", "() => (float[5,7] y) { y = Identity(c1) }", constant, captured=[a, b])
        branch(f"two_outputs_{condition}", condition, "() => (float[5,7] y, float[5] z) { y = Exp(c0) z = ReduceSum<axes = [1], keepdims = 0>(c0) }",
               "() => (float[5,7] y, float[5] z) { y = Neg(c0) z = ReduceMax<axes = [1], keepdims = 0>(c0) }", captured=[a], outputs=2, opset=11)
        branch(f"division_by_zero_{condition}", condition, "() => (int64[4] y) { y = Div(c0, c1) }", "() => (int64[4] y) { y = Identity(c0) }" if condition else "() => (int64[4] y) { y = Add(c0, c0) }",
               captured=[np.array([7, 8, 9, 10], I64), np.array([1, 2, 3, 4], I64)])
        branch(f"f16_{condition}", condition, "() => (float16[5,7] y) { y = Add(c0, c0) }", "() => (float16[5,7] y) { y = Neg(c0) }", captured=[a.astype(F16)])
        branch(f"nested_{condition}", condition, "() => (float[5,7] y) { y = If<then_branch = t () => (float[5,7] z) { z = Add(c0, c1) }, else_branch = e () => (float[5,7] z) { z = Sub(c0, c1) }>(c2) }",
               "() => (float[5,7] y) { y = Mul(c0, c1) }", captured=[a, b, np.array(not condition, bool)])
    branch("other_shapes_known", True, "() => (float[5,7] y) { y = Add(c0, c0) }", "() => (float[5] y) { y = ReduceSum<axes = [1], keepdims = 0>(c0) }", True, captured=[a], opset=11)
    branch("product", True, "() => (float[5,5] y) { t = Transpose<perm = [1, 0]>(c0) y = MatMul(c0, t) }", "() => (float[5,5] y) { z = ReduceSum<axes = [1], keepdims = 1>(c0) o = Transpose<perm = [1, 0]>(z) y = Mul(z, o) }",
           captured=[a], opset=11)

    for op, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
        recurrent(add, numbers, op, gates)


def recurrent(add, numbers, op, gates):
    time, batch, inputs, hidden = 7, 3, 5, 6
    states = 2 if op == "LSTM" else 1

    def case(name, t=time, b=batch, i=inputs, h=hidden, bias=True, lengths=None, initial=False, peepholes=False, direction="forward", layout=0, constants=(1, 2, 3),
             opset=14, dtype="f32", outputs=1 + states, **attributes):
        d = 2 if direction == "bidirectional" else 1
        key = f"{op}{t}{b}{i}{h}{d}"
        shape = (b, d, h) if layout else (d, b, h)
        operands = [numbers(key + "x", (b, t, i) if layout else (t, b, i)), numbers(key + "w", (d, gates * h, i), -0.6, 0.6), numbers(key + "r", (d, gates * h, h), -0.6, 0.6),
                    numbers(key + "b", (d, 2 * gates * h), -0.5, 0.5) if bias else None, None if lengths is None else np.array(lengths, I32)]
        operands += [numbers(key + f"s{k}", shape, -1, 1) if initial else None for k in range(states)]
        if peepholes:
            operands.append(numbers(key + "p", (d, 3 * h), -0.5, 0.5))
        while operands[-1] is None:
            operands.pop()
        attributes.update(hidden_size=h, **({"direction": direction} if direction != "forward" else {}), **({"layout": 1} if layout else {}))
        add(op, name, operands, attributes, opset=opset, constants=[k for k in constants if k < len(operands)], dtype=dtype, outputs=outputs)

    for direction in ("forward", "reverse", "bidirectional"):
        case(direction, direction=direction)
        case(f"{direction}_no_bias", direction=direction, bias=False)
        case(f"{direction}_initial", direction=direction, initial=True)
        case(f"{direction}_lengths", direction=direction, lengths=[7, 3, 1], initial=True)
        case(f"{direction}_known_lengths", direction=direction, lengths=[2, 7, 5], constants=(1, 2, 3, 4))
        case(f"{direction}_one_step", direction=direction, t=1)
        case(f"{direction}_clipped", direction=direction, clip=0.4)
        case(f"{direction}_only_all", direction=direction, outputs=1)
    case("whole_lengths", lengths=[7, 7, 7], constants=(1, 2, 3, 4))
    case("computed_weights", constants=())
    case("opset7", opset=7)
    case("opset22", opset=22, initial=True)
    case("even_sizes", t=5, b=4, i=16, h=32, direction="bidirectional", initial=True)
    case("one_batch", t=33, b=1, i=31, h=16)
    functions = [("Tanh",), ("Sigmoid",), ("Relu",), ("HardSigmoid",), ("Softsign",), ("Softplus",), ("LeakyRelu",), ("Elu",), ("ScaledTanh",), ("Affine",), ("ThresholdedRelu",)]
    for (name,) in functions:
        parameters = {"HardSigmoid": (0.3, 0.4), "LeakyRelu": (0.2,), "Elu": (0.7,), "ScaledTanh": (0.8, 0.6), "Affine": (0.5, 0.1), "ThresholdedRelu": (0.1,)}.get(name, ())
        own = {"activation_alpha": [parameters[0]]} if parameters else {}
        own |= {"activation_beta": [parameters[1]]} if len(parameters) > 1 else {}
        rest = {"RNN": [], "GRU": ["Tanh"], "LSTM": ["Tanh", "Tanh"]}[op]
        case(f"activation_{name}", activations=[name, *rest], t=3, **own)
    first = {"RNN": ["Tanh", "Relu"], "GRU": ["Sigmoid", "Tanh", "HardSigmoid", "Softsign"], "LSTM": ["Sigmoid", "Tanh", "Relu", "HardSigmoid", "Softsign", "Tanh"]}[op]
    case("activations_by_direction", direction="bidirectional", activations=first)
    if op == "GRU":
        for direction in ("forward", "reverse", "bidirectional"):
            case(f"{direction}_reset_after", direction=direction, linear_before_reset=1, initial=True)
            case(f"{direction}_reset_after_no_bias", direction=direction, linear_before_reset=1, bias=False)
        case("reset_after_lengths", direction="bidirectional", linear_before_reset=1, lengths=[7, 3, 1])
    if op == "LSTM":
        for direction in ("forward", "bidirectional"):
            case(f"{direction}_peepholes", direction=direction, peepholes=True, initial=True)
        case("input_forget", input_forget=1)
        case("peepholes_without_initial", peepholes=True)
