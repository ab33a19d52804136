"""Inputs that are missing, misshapen or damaged; outputs that are saved and compared."""
import json
import math
import struct
import unittest

import tiny_onnx as onnx
from harness import CommandTest


class Inputs(CommandTest):
    def x(self, kind=onnx.F32, dims=(2, 3), name="x.npy"):
        count = math.prod(dims)
        return self.path(name, onnx.npy(kind, dims, [i % 2 for i in range(count)]))

    def test_all_missing_ones_at_once(self):
        model = self.path("add.onnx", onnx.model([onnx.node("Add", ["a", "b"], ["y"])],
                                                 [onnx.value("a", onnx.F32, (2,)), onnx.value("b", onnx.F32, (2,))],
                                                 [onnx.value("y", onnx.F32, (2,))]))
        result = self.refused("run", model, says=["input 'a'", "is not given"], way_out="--random SEED")
        self.assertIn("input 'b': is not given", result.err)

    def test_unknown_name(self):
        self.refused("run", self.relu(), "--input", f"q={self.x()}", says=["--input", "no input 'q'"], way_out="x f32[2,3]")

    def test_no_equals_sign(self):
        self.refused("run", self.relu(), "--input", self.x(), says=["--input", "has not the form NAME=FILE"], way_out="x f32[2,3]")

    def test_given_twice(self):
        self.refused("run", self.relu(), "--input", f"x={self.x()}", "--input", f"x={self.x()}", says=["input 'x'", "is given twice"])

    def test_no_such_file(self):
        self.refused("run", self.relu(), "--input", "x=none.npy", says=["input 'x'", "none.npy"])

    def test_not_a_tensor(self):
        self.refused("run", self.relu(), "--input", f"x={self.path('x.npy', 'words')}", says=["input 'x'", "x.npy"])

    def test_truncated(self):
        whole = onnx.npy(onnx.F32, (2, 3), range(6))
        self.refused("run", self.relu(), "--input", f"x={self.path('x.npy', whole[:-1])}", says=["input 'x'", "x.npy"])

    def test_other_element_type(self):
        self.refused("run", self.relu(), "--input", f"x={self.x(onnx.F64)}", says=["input 'x'", "holds f64[2x3]", "x f32[2,3]"],
                     way_out="convert the file to f32")

    def test_misshapen(self):
        self.refused("run", self.relu(), "--input", f"x={self.x(dims=(3, 2))}", says=["input 'x'", "[3,2]", "[2,3]"])

    def test_wrong_rank(self):
        self.refused("run", self.relu(("n", 3)), "--input", f"x={self.x(dims=(6,))}", says=["input 'x'", "[6]", "[n,3]"])

    def test_contradicts_shape(self):
        self.refused("run", self.relu(("n", 3)), "--input", f"x={self.x()}", "--shape", "x=4,3",
                     says=["input 'x'", "--shape says [4,3]", "f32[2x3]"])

    def test_no_data_set_folder(self):
        self.refused("run", self.relu(), "--data-set", "nowhere", says=["--data-set", "no folder 'nowhere'"], way_out="input_0.pb")

    def test_empty_data_set(self):
        (self.folder / "d").mkdir()
        self.refused("run", self.relu(), "--data-set", "d", says=["--data-set", "has no input_0.pb"])

    def test_more_files_than_inputs(self):
        for i in range(2):
            self.path(f"d/input_{i}.pb", onnx.tensor("x", onnx.F32, (2, 3), range(6)))
        self.refused("run", self.relu(), "--data-set", "d", says=["--data-set", "2 input files", "1 input"], way_out="x f32[2,3]")

    def test_name_with_an_equals_sign(self):
        model = self.path("m.onnx", onnx.model([onnx.node("Relu", ["a=b"], ["y"])], [onnx.value("a=b", onnx.F32, (2, 3))],
                                               [onnx.value("y", onnx.F32, (2, 3))]))
        self.succeeds("run", model, "--input", f"a=b={self.x()}")

    def test_shapes_are_inferred_from_inputs(self):
        self.assertIn("[7x3]", self.succeeds("run", self.relu(("n", 3)), "--input", f"x={self.x(dims=(7, 3))}").out)

    def test_npy_and_pb_give_the_same(self):
        pb = self.path("x.pb", onnx.tensor("x", onnx.F32, (2, 3), [0, 1] * 3))
        self.succeeds("run", self.relu(), "--input", f"x={self.x()}", "--save-outputs", "a")
        self.succeeds("run", self.relu(), "--input", f"x={pb}", "--save-outputs", "b")
        self.assertEqual((self.folder / "a/0.npy").read_bytes(), (self.folder / "b/0.npy").read_bytes())

    def test_random_is_the_same_for_a_seed(self):
        for seed, folder in [(1, "a"), (1, "b"), (2, "c")]:
            self.succeeds("run", self.relu(), "--random", seed, "--save-outputs", folder)
        a, b, c = [(self.folder / f / "0.npy").read_bytes() for f in "abc"]
        self.assertEqual(a, b)
        self.assertNotEqual(a, c)


class Outputs(CommandTest):
    def test_files_and_list(self):
        x = self.path("x.npy", onnx.npy(onnx.F32, (2, 3), [-1, 2, -3, 4, 0, 0.5]))
        self.succeeds("run", self.relu(), "--input", f"x={x}", "--save-outputs", "deep/out")
        listed = json.loads((self.folder / "deep/out/outputs.json").read_text())
        self.assertEqual(listed, [{"name": "y", "type": "f32", "shape": [2, 3], "file": "0.npy"}])
        kind, shape, data = onnx.read_npy((self.folder / "deep/out/0.npy").read_bytes())
        self.assertEqual((kind, shape), ("<f4", (2, 3)))
        self.assertEqual(struct.unpack("<6f", data), (0, 2, 0, 4, 0, 0.5))

    def test_type_that_numpy_lacks(self):
        x = self.path("x.pb", onnx.field(1, 2) + onnx.field(2, onnx.BF16) + onnx.field(9, struct.pack("<2H", 0x3F80, 0xBF80)))
        self.succeeds("run", self.relu((2,), onnx.BF16), "--input", f"x={x}", "--save-outputs", "o")
        listed = json.loads((self.folder / "o/outputs.json").read_text())
        self.assertEqual(listed, [{"name": "y", "type": "bf16", "shape": [2], "file": "0.pb"}])
        self.assertIn(struct.pack("<2H", 0x3F80, 0), (self.folder / "o/0.pb").read_bytes())

    def test_folder_that_cannot_be_made(self):
        file = self.path("file", "")
        self.refused_late("run", self.relu(), "--random", "1", "--save-outputs", f"{file}/o", says="cannot be made")

    def refused_late(self, *arguments, says):
        result = self.call(*arguments)
        self.assertEqual(result.status, 2)
        self.assertIn(says, result.err)


class Checks(CommandTest):
    """relu of [-1, 2, nan, inf, 0, 0.5]."""

    def data_set(self, expected, inputs=(-1, 2, math.nan, math.inf, 0, 0.5), kind=onnx.F32):
        dims = (len(inputs),)
        self.path("d/input_0.pb", onnx.tensor("x", kind, dims, inputs))
        for i, values in enumerate(expected):
            self.path(f"d/output_{i}.pb", onnx.tensor("y", kind, (len(values),), values))
        return self.relu(dims, kind)

    def check(self, expected, *options, status=0, **more):
        result = self.call("run", self.data_set([expected], **more), "--data-set", "d", "--check", "--report", "report.json", *options)
        self.assertEqual(result.status, status, result.out + result.err)
        return result, self.report()["checks"][0]

    def test_right(self):
        _, check = self.check([0, 2, math.nan, math.inf, 0, 0.5])
        self.assertEqual(check, {"output": "y", "max_abs": 0.0, "max_rel": 0.0, "ok": True, "reason": None})

    def test_value_differs(self):
        result, check = self.check([0, 2, math.nan, math.inf, 0, 0.6], status=1)
        self.assertIn("check failed: output 'y': 1 of 6 elements differs, most at [5]: 0.5, expected 0.6", result.err)
        self.assertIn("FAILED", result.out)
        self.assertFalse(check["ok"])
        self.assertAlmostEqual(check["max_abs"], 0.1, places=6)
        self.assertAlmostEqual(check["max_rel"], 1 / 6, places=6)

    def test_nan_is_no_number(self):
        _, check = self.check([0, 2, 1, math.inf, 0, 0.5], status=1)
        self.assertIsNone(check["max_abs"])

    def test_infinity_is_only_itself(self):
        self.check([0, 2, math.nan, -math.inf, 0, 0.5], status=1)
        self.check([0, 2, math.nan, 1e30, 0, 0.5], "--rtol", "1e9", status=1)

    def test_default_tolerance(self):
        self.check([0, 2 * (1 + 9e-4), math.nan, math.inf, 0, 0.5])
        self.check([0, 2 * (1 + 2e-3), math.nan, math.inf, 0, 0.5], status=1)
        self.check([9e-6, 2, math.nan, math.inf, 0, 0.5])
        self.check([2e-5, 2, math.nan, math.inf, 0, 0.5], status=1)

    def test_tolerances_as_asked_for(self):
        expected = [0.01, 2, math.nan, math.inf, 0, 0.5]
        self.check(expected, "--atol", "0.02")
        self.check(expected, "--rtol", "0", "--atol", "0.005", status=1)
        # The root mean square of the finite values is about 1.03.
        self.check(expected, "--rtol", "0", "--atol", "0", "--atol-rms", "0.0105")
        self.check(expected, "--rtol", "0", "--atol", "0", "--atol-rms", "0.0090", status=1)

    def test_narrow_types_are_wider(self):
        self.check([0, 2.015], inputs=(0, 2), kind=onnx.F16)
        self.check([0, 2.1], inputs=(0, 2), kind=onnx.F16, status=1)

    def test_integers_are_exact(self):
        self.check([0, 1000001], "--rtol", "1", inputs=(0, 1000000), kind=onnx.I32, status=1)

    def test_other_shape(self):
        result, check = self.check([0, 2], status=1)
        self.assertIn("is f32[6], expected f32[2]", result.err)
        self.assertIsNone(check["max_abs"])

    def test_missing_expected_output(self):
        self.refused("run", self.data_set([]), "--data-set", "d", "--check", says=["--check", "0 output files", "1 output"])

    def test_too_many_expected_outputs(self):
        self.refused("run", self.data_set([[0], [0]]), "--data-set", "d", "--check", says=["--check", "2 output files", "1 output"])

    def test_damaged_expected_output(self):
        model = self.data_set([[0]])
        self.path("d/output_0.pb", b"\xff\xff\xff")
        self.refused("run", model, "--data-set", "d", "--check", says=["output 'y'", "output_0.pb"])


if __name__ == "__main__":
    unittest.main()
