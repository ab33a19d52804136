"""Models that are refused, and how inspect sees them."""
import json
import subprocess
import unittest
from pathlib import Path

import tiny_onnx as onnx
from harness import PROGRAM, CommandTest

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(64)


class Files(CommandTest):
    def test_no_such_file(self):
        self.refused("run", "nowhere.onnx", "--random", "1", says=["nowhere.onnx", "no such file"], way_out="path of a model")

    def test_folder(self):
        self.refused("run", self.folder, "--random", "1", says=[str(self.folder), "director"])

    def test_empty_file(self):
        self.refused("run", self.path("empty.onnx", b""), "--random", "1", says=["empty.onnx", "empty"])

    def test_png(self):
        self.refused("run", self.path("picture.onnx", PNG), "--random", "1", says=["picture.onnx", "PNG"])

    def test_text(self):
        self.refused("run", self.path("notes.onnx", "these are notes, not a model\n"), "--random", "1", says="notes.onnx")

    def test_truncated_model(self):
        whole = Path(self.chain()).read_bytes()
        for length in [len(whole) - 1, len(whole) // 2, 40, 3]:
            with self.subTest(length=length):
                self.refused("run", self.path("cut.onnx", whole[:length]), "--random", "1", says="cut.onnx")

    def test_same_for_every_verb(self):
        empty = self.path("empty.onnx", b"")
        for arguments in [("inspect", empty), ("explain", empty), ("compile", empty, "-o", "m.lsp")]:
            with self.subTest(arguments[0]):
                self.refused(*arguments, says=["empty.onnx", "empty"])


class Operators(CommandTest):
    def unsupported(self):
        nodes = [onnx.node("Relu", ["x"], ["a"], "first"), onnx.node("NonMaxSuppression", ["a"], ["b"]),
                 onnx.node("Frobnicate", ["b"], ["c"], "mine", domain="com.example"), onnx.node("NonMaxSuppression", ["c"], ["y"])]
        return self.path("odd.onnx", onnx.model(nodes, [onnx.value("x", onnx.F32, (2, 3))], [onnx.value("y", onnx.F32, (2, 3))]))

    def test_all_unsupported_nodes_at_once(self):
        result = self.refused("run", self.unsupported(), "--random", "1", says=["NonMaxSuppression#0"])
        for node in ["NonMaxSuppression#0", "NonMaxSuppression#1", "mine"]:
            self.assertIn(node, result.err)
        self.assertNotIn("first", result.err)

    def test_inspect_lists_them_and_succeeds(self):
        out = self.succeeds("inspect", self.unsupported()).out
        self.assertIn("3 nodes not supported", out)
        for text in ["Relu", "NonMaxSuppression#0, NonMaxSuppression#1", "com.example.Frobnicate"]:
            self.assertIn(text, out)

    def test_inspect_json(self):
        report = json.loads(self.succeeds("inspect", self.unsupported(), "--json").out)
        found = {o["op_type"]: o for o in report["inspect"]["operators"]}
        self.assertTrue(found["Relu"]["supported"])
        self.assertFalse(found["NonMaxSuppression"]["supported"])
        self.assertEqual(found["NonMaxSuppression"]["nodes"], ["NonMaxSuppression#0", "NonMaxSuppression#1"])
        self.assertEqual(report["inspect"]["inputs"], [{"name": "x", "type": "f32", "shape": [2, 3]}])
        self.assertEqual(report["inspect"]["opsets"], {"ai.onnx": 17})


class Shapes(CommandTest):
    def test_open_named_dimension(self):
        self.refused("run", self.relu(("batch", 3)), "--random", "1", says=["input 'x'", "batch"], way_out="--dim batch=N")

    def test_open_unnamed_dimension(self):
        self.refused("run", self.relu(("", 3)), "--random", "1", says=["input 'x'"], way_out="--shape x=")

    def test_no_declared_shape(self):
        self.refused("run", self.relu(None), "--random", "1", says=["input 'x'", "does not say which shape"], way_out="--shape x=N")

    def test_unknown_symbol(self):
        self.refused("run", self.relu(("batch", 3)), "--random", "1", "--dim", "batsh=2", says=["--dim batsh", "no dimension 'batsh'"],
                     way_out="'batch'")

    def test_negative_dim(self):
        self.refused("run", self.relu(("batch", 3)), "--random", "1", "--dim", "batch=-2", says=["--dim batch", "-2"])

    def test_shape_of_unknown_input(self):
        self.refused("run", self.relu(), "--random", "1", "--shape", "q=2,3", says=["--shape q", "no input 'q'"], way_out="'x'")

    def test_shape_that_does_not_fit(self):
        self.refused("run", self.relu(("batch", 3)), "--random", "1", "--shape", "x=2,4", says=["input 'x'", "[2,4]", "[batch,3]"])

    def test_more_bytes_than_can_be_counted(self):
        for shape in ["4611686018427387904,4", "9223372036854775807,0,9223372036854775807"]:
            with self.subTest(shape):
                dims = tuple("abc"[:shape.count(",") + 1])
                self.refused("run", self.relu(dims), "--random", "1", "--shape", f"x={shape}", says=["input 'x'", "63 bits"], way_out="smaller")

    def test_unsupported_input_type(self):
        self.refused("run", self.relu(kind=onnx.STRING, op="Identity"), "--random", "1", says=["input 'x'", "string"])

    def test_dims_and_shapes_fix_what_is_open(self):
        for arguments in [("--dim", "batch=5"), ("--shape", "x=5,3")]:
            with self.subTest(arguments):
                self.assertIn("[5x3]", self.succeeds("run", self.relu(("batch", 3)), "--random", "1", *arguments).out)


class Devices(CommandTest):
    def test_no_gpu(self):
        result = self.call("run", self.relu(), "--random", "1", "--device", "cuda")
        if result.status == 0:
            self.skipTest("there is a GPU")
        self.assertEqual(result.status, 2, result.err)
        self.assertIn("device cuda", result.err)
        self.assertIn("--device host", result.err)

    def test_gpu_target_on_the_host(self):
        self.refused("run", self.relu(), "--random", "1", "--device", "host", "--target", "sm_90",
                     says=["target sm_90", "not for the host device"], way_out="--device simulator")

    def test_host_target_on_the_simulator(self):
        self.refused("run", self.relu(), "--random", "1", "--device", "simulator", "--target", "host",
                     says=["target host", "no PTX for the simulator"], way_out="--device host")

    def test_unknown_target(self):
        self.refused("compile", self.relu(), "-o", "m.lsp", "--target", "sm_91", says="sm_91")

    def test_memory_cap(self):
        self.refused("run", self.chain(), "--random", "1", "--memory-cap", "1", says=["device error", "memory"], status=4)


class Plans(CommandTest):
    def test_no_plan_file(self):
        self.refused("run", self.chain(), "--random", "1", "--plan", "none.plan", says=["--plan", "'none.plan' cannot be read"])

    def test_empty_plan(self):
        self.refused("run", self.chain(), "--random", "1", "--plan", self.path("p.plan", "\n"), says=["--plan", "is empty"])

    def test_plan_and_explorer(self):
        self.refused("run", self.chain(), "--random", "1", "--plan", "p", "--explorer", "none", says=["--plan", "is a plan already"])

    def test_plan_with_an_unknown_primitive(self):
        plan = self.path("p.plan", 'kernel "nobody"\n')
        self.refused("run", self.chain(), "--random", "1", "--plan", plan, says=["p.plan", "line 1", "nobody"], way_out="--emit plan=-")

    def test_plan_round_trip(self):
        plan = self.succeeds("compile", self.chain(), "--emit", "plan=-").out
        self.succeeds("run", self.chain(), "--random", "1", "--plan", self.path("p.plan", plan), "--save-outputs", "a")
        self.succeeds("run", self.chain(), "--random", "1", "--save-outputs", "b")
        self.assertEqual((self.folder / "a/0.npy").read_bytes(), (self.folder / "b/0.npy").read_bytes())


class Emitting(CommandTest):
    def test_every_stage_alone_on_standard_output(self):
        for stage in ["graph", "primitives", "plan", "schedule", "stages", "syncs", "llvm", "ptx", "object"]:
            for verb in [("compile",), ("run", "--random", "1")]:
                with self.subTest(stage=stage, verb=verb[0]):
                    done = subprocess.run([PROGRAM, verb[0], self.softmax(), *verb[1:], "--emit", f"{stage}=-"], capture_output=True)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertTrue(done.stdout)
                    self.assertNotIn(b"compiled in", done.stdout)
                    if stage == "ptx":
                        self.assertIn(b".target sm_90", done.stdout)
                    if stage == "object":
                        self.assertTrue(done.stdout.startswith(b"\x7fELF"))

    def test_file_that_cannot_be_written(self):
        self.refused("compile", self.softmax(), "--emit", "plan=no/such/folder/p", says=["--emit plan", "cannot be written"])

    def test_cubin_without_an_assembler(self):
        result = self.call("compile", self.softmax(), "--emit", "cubin=k.cubin")
        if result.status == 0:
            self.skipTest("ptxas is there")
        self.assertEqual(result.status, 2, result.err)
        self.assertIn("ptxas", result.err)


class Explaining(CommandTest):
    def test_unknown_node(self):
        self.refused("explain", self.chain(), "--node", "nobody", says=["--node", "no node 'nobody'"], way_out="product")

    def test_unknown_node_between(self):
        self.refused("explain", self.chain(), "--between", "product", "nobody", says=["--between", "no node 'nobody'"])

    def test_kernels_in_order_then_refusals(self):
        out = self.succeeds("explain", self.chain()).out
        self.assertLess(out.index("Softmax#0"), out.index("product"))
        self.assertLess(out.index("product"), out.index("Softmax#1"))
        self.assertIn("library call", out)

    def test_node(self):
        self.assertIn("kernel", self.succeeds("explain", self.chain(), "--node", "Softmax#0").out)
        self.assertIn("library call", self.succeeds("explain", self.chain(), "--node", "MatMul#0").out)
        self.assertIn("folded", self.succeeds("explain", self.chain(), "--node", "plus").out)
        self.assertIn("not computed", self.succeeds("explain", self.chain(), "--node", "unused").out)

    def test_between(self):
        self.assertIn("are one", self.succeeds("explain", self.chain(), "--between", "scale", "Softmax#1").out)
        out = self.succeeds("explain", self.chain(), "--between", "Softmax#0", "product").out
        self.assertIn("library", out)
        out = self.succeeds("explain", self.chain(), "--between", "plus", "product").out
        self.assertIn("computed by no step", out)

    def test_json_has_decisions(self):
        report = json.loads(self.succeeds("explain", self.chain(), "--json").out)
        self.assertTrue(report["decisions"])
        for decision in report["decisions"]:
            self.assertEqual(set(decision), {"a", "b", "verdict", "by", "reason", "numbers"})
            self.assertIn(decision["verdict"], ["merged", "refused"])
            self.assertIn(decision["by"], ["legality", "profit"])
            self.assertTrue(decision["reason"])


if __name__ == "__main__":
    unittest.main()
