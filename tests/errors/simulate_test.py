"""lockstitch simulate: right kernels, findings, refusals; and models on the simulator."""
import json
import struct
import unittest
from pathlib import Path

import tiny_onnx as onnx
from harness import CommandTest

PTX = str(Path(__file__).resolve().parent / "inputs" / "scale.ptx")
MANGLED = "_Z5scalePKfPffi"


class Simulate(CommandTest):
    def x(self, n=100):
        return self.path("x.npy", onnx.npy(onnx.F32, (n,), range(n)))

    def scale(self, *options, n=100, buffer="f32[100]", status=0, kernel="scale", block="32", grid="4"):
        result = self.call("simulate", PTX, kernel, "--grid", grid, "--block", block, "--arg", self.x(n), "--arg", buffer, "--arg", "f32=2.5",
                           "--arg", f"i32={n}", "--save-args", "args", "--report", "report.json", *options)
        self.assertEqual(result.status, status, result.out + result.err)
        return result

    def test_right_kernel(self):
        out = self.scale().out
        self.assertIn("no findings", out)
        kind, shape, data = onnx.read_npy((self.folder / "args/1.npy").read_bytes())
        self.assertEqual((kind, shape), ("<f4", (100,)))
        self.assertEqual(struct.unpack("<100f", data), tuple(2.5 * i for i in range(100)))
        self.assertEqual(sorted(p.name for p in (self.folder / "args").iterdir()), ["0.npy", "1.npy"])

    def test_report(self):
        self.scale()
        report = self.report()
        self.assertEqual((report["target"], report["device"], report["error"]), ("sm_80", "simulator", None))
        kernel, = report["kernels"]
        self.assertEqual((kernel["name"], kernel["grid"], kernel["block"], kernel["launches"]), (MANGLED, [4, 1, 1], [32, 1, 1], 1))
        self.assertEqual((kernel["bytes_read"], kernel["bytes_written"]), (400, 400))
        self.assertEqual(kernel["counters"]["sectors_read"], 13)  # three full warps of 4, and 16 bytes
        self.assertEqual(kernel["counters"]["sectors_written"], 13)
        self.assertEqual(kernel["counters"]["barriers"], 0)
        self.assertEqual(kernel["findings"], [])

    def test_mangled_and_plain_name(self):
        self.scale(kernel=MANGLED)
        self.scale(kernel="scale")

    def test_seed_changes_no_value(self):
        self.scale()
        first = (self.folder / "args/1.npy").read_bytes()
        self.scale("--seed", "7")
        self.assertEqual(first, (self.folder / "args/1.npy").read_bytes())

    def test_out_of_bounds(self):
        result = self.scale(buffer="f32[99]", status=1)
        self.assertIn("out-of-bounds", result.out)
        report = self.report()
        self.assertEqual(report["error"]["status"], 1)
        finding, = report["kernels"][0]["findings"]
        self.assertEqual((finding["kind"], finding["block"], finding["thread"]), ("out-of-bounds", [3, 0, 0], [3, 0, 0]))
        self.assertEqual((finding["arg"], finding["offset"]), (1, 396))
        self.assertEqual(finding["source"], {"file": "scale.cu", "line": 4})
        line = Path(PTX).read_text().splitlines()[finding["ptx_line"] - 1]
        self.assertIn("st.global.f32", line)
        self.assertIn(f"{finding['ptx_line']}", result.out)

    def test_uninitialised(self):
        result = self.call("simulate", PTX, "scale", "--block", "32", "--arg", "f32[32]", "--arg", "f32[32]", "--arg", "f32=1", "--arg", "i32=32")
        self.assertEqual(result.status, 1, result.err)
        self.assertIn("uninitialised", result.out)

    def test_race(self):
        result = self.call("simulate", PTX, "neighbours", "--block", "64", "--arg", "u32[64]")
        self.assertEqual(result.status, 1, result.err)
        self.assertIn("race", result.out + result.err)

    def test_json(self):
        report = json.loads(self.scale("--json").out)
        self.assertEqual(report["kernels"][0]["findings"], [])

    def refuses(self, *arguments, file=PTX, kernel="scale", **how):
        return self.refused("simulate", file, kernel, *arguments, **how)

    def test_no_such_file(self):
        self.refuses(file="none.ptx", says=["PTX file", "'none.ptx' cannot be read"])

    def test_not_ptx(self):
        self.refuses(file=self.path("k.ptx", "words\n"), says=["k.ptx", "no '.entry'"], way_out="nvcc --ptx")

    def test_syntax_error_has_its_line(self):
        text = Path(PTX).read_text().replace("mul.f32 %f3, %f2, %f1;", "mul.f32 %f3 %f2;")
        line = text[:text.index("mul.f32")].count("\n") + 1
        self.refuses(file=self.path("k.ptx", text), says=["k.ptx", f"line {line}"])

    def test_unknown_opcode_has_its_line(self):
        text = Path(PTX).read_text().replace("mul.f32 %f3, %f2, %f1;", "frobnicate.f32 %f3, %f2, %f1;")
        line = text[:text.index("frobnicate")].count("\n") + 1
        self.refuses(*["--arg", "f32[1]", "--arg", "f32[1]", "--arg", "f32=1", "--arg", "i32=1"], file=self.path("k.ptx", text),
                     says=["k.ptx", f"line {line}", "frobnicate"])

    def test_unknown_kernel(self):
        self.refuses(kernel="nobody", says=["nobody"], way_out=MANGLED)

    def test_number_of_arguments(self):
        self.refuses("--arg", "f32[1]", says=["--arg", "has 4 parameters, 1 argument is given"], way_out="_param_3 (4 bytes)")

    def arguments(self, *four, **how):
        return self.refuses(*[a for text in four for a in ("--arg", text)], **how)

    def test_scalar_of_another_size(self):
        self.arguments("f32[1]", "f32[1]", "f64=1", "i32=1", says=["--arg 2", "'f64=1' has 8 bytes", "4 bytes"])

    def test_buffer_for_a_scalar(self):
        self.arguments("f32[1]", "f32[1]", "f32[1]", "i32=1", says=["--arg 2", "is a buffer"], way_out="i32=7")

    def test_value_that_does_not_fit(self):
        self.arguments("f32[1]", "f32[1]", "f32=1", "u8=256", says=["--arg 3", "'256' is not a value of u8"])

    def test_value_that_is_none(self):
        self.arguments("f32[1]", "f32[1]", "f32=one", "i32=1", says=["--arg 2", "'one' is not a value of f32"])

    def test_buffer_size_that_is_none(self):
        self.arguments("f32[many]", "f32[1]", "f32=1", "i32=1", says=["--arg 0", "'f32[many]' is not a buffer"], way_out="f32[4096]")

    def test_buffer_that_is_too_large(self):
        self.arguments("f32[9000000000000000000]", "f32[1]", "f32=1", "i32=1", says=["--arg 0", "is too large"])

    def test_argument_file_that_is_not_there(self):
        self.arguments("none.npy", "f32[1]", "f32=1", "i32=1", says=["--arg 0", "none.npy"])

    def test_grid_that_is_none(self):
        for grid in ["0", "1,2,3,4", "x", "1,,2", "-1"]:
            with self.subTest(grid):
                self.refuses("--grid=" + grid, says="--grid")

    def test_block_that_is_none(self):
        self.refuses("--block", "32,0", says=["--block", "'32,0' is not X[,Y[,Z]]"])

    def test_block_that_is_too_large(self):
        result = self.scale(block="2048", grid="1", status=1)
        self.assertIn("limit", result.out + result.err)

    def test_folder_for_arguments_that_cannot_be_made(self):
        file = self.path("file", "")
        result = self.call("simulate", PTX, "scale", "--arg", self.x(1), "--arg", "f32[1]", "--arg", "f32=1", "--arg", "i32=1", "--save-args",
                           f"{file}/a")
        self.assertEqual(result.status, 2)
        self.assertIn("--save-args: the folder", result.err)


class Models(CommandTest):
    def test_model_on_the_simulator(self):
        self.succeeds("run", self.chain(), "--random", "1", "--device", "simulator", "--report", "report.json", "--save-outputs", "a")
        self.succeeds("run", self.chain(), "--random", "1", "--device", "host", "--save-outputs", "b")
        report = self.report()
        self.assertEqual((report["target"], report["device"]), ("sm_90", "simulator"))
        for kernel in report["kernels"]:
            self.assertEqual(kernel["findings"], [])
            self.assertGreater(kernel["counters"]["sectors_read"], 0)
            self.assertGreater(kernel["counters"]["thread_instructions"], 0)
        a, b = [onnx.read_npy((self.folder / f / "0.npy").read_bytes()) for f in "ab"]
        self.assertEqual(a[:2], b[:2])
        for left, right in zip(struct.unpack("<32f", a[2]), struct.unpack("<32f", b[2])):
            self.assertAlmostEqual(left, right, places=5)

    def test_artifact_on_the_simulator(self):
        self.succeeds("compile", self.chain(), "-o", "m.lsp", "--target", "sm_80")
        self.succeeds("run", "m.lsp", "--random", "1", "--device", "simulator")


if __name__ == "__main__":
    unittest.main()
