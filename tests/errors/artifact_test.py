"""Artifacts: made, run, refused."""
import json
import unittest
from pathlib import Path

from harness import CommandTest


class Artifacts(CommandTest):
    def artifact(self, *options):
        self.succeeds("compile", self.chain(), "-o", "m.lsp", *options)
        return str(self.folder / "m.lsp")

    def test_same_outputs_as_the_model(self):
        lsp = self.artifact()
        self.succeeds("run", lsp, "--random", "3", "--save-outputs", "a")
        self.succeeds("run", self.chain(), "--random", "3", "--save-outputs", "b")
        self.assertEqual((self.folder / "a/0.npy").read_bytes(), (self.folder / "b/0.npy").read_bytes())

    def test_same_bytes_each_time(self):
        first = Path(self.artifact("--target", "host", "--target", "sm_90")).read_bytes()
        self.assertEqual(first, Path(self.artifact("--target", "host", "--target", "sm_90")).read_bytes())

    def test_report_of_an_artifact(self):
        self.succeeds("run", self.artifact(), "--random", "1", "--report", "a.json")
        self.succeeds("run", self.chain(), "--random", "1", "--report", "b.json")
        a, b = self.report("a.json"), self.report("b.json")
        self.assertEqual(a["totals"], b["totals"])
        self.assertEqual([k["nodes"] for k in a["kernels"]], [k["nodes"] for k in b["kernels"]])
        self.assertIsNone(a["compile_cpu_seconds"]["total"])
        self.assertIsNone(a["kernels"][0]["compile_cpu_ms"])

    def test_inspect(self):
        lsp = self.artifact("--target", "x86-64-v2", "--target", "sm_80")
        out = self.succeeds("inspect", lsp).out
        for text in ["target x86-64-v2", "target sm_80", "compute capability 8.0", "CUDA", "arena", "shared object", "PTX"]:
            self.assertIn(text, out)
        report = json.loads(self.succeeds("inspect", lsp, "--json").out)
        self.assertEqual([t["target"] for t in report["inspect"]["targets"]], ["x86-64-v2", "sm_80"])
        self.assertEqual(report["inspect"]["kind"], "artifact")

    def test_inspect_lists_the_sections(self):
        lsp = self.artifact("--target", "x86-64-v2", "--target", "sm_80")
        out = self.succeeds("inspect", lsp).out
        for text in ["header", "manifest", "constant 'w'", "code of x86-64-v2", "code of sm_80", "not verified"]:
            self.assertIn(text, out)
        sections = json.loads(self.succeeds("inspect", lsp, "--json", "--verify").out)["inspect"]["sections"]
        self.assertEqual({s["state"] for s in sections}, {"good"})
        self.assertEqual({s["file"] for s in sections}, {None})
        ends = [s["offset"] + (s["bytes"] + 63) // 64 * 64 for s in sections]
        self.assertEqual([0] + ends[:-1], [s["offset"] for s in sections])
        self.assertEqual(ends[-1], Path(lsp).stat().st_size)

    def test_inspect_verify_finds_damage(self):
        lsp = self.artifact()
        content = bytearray(Path(lsp).read_bytes())
        content[-1] ^= 1
        Path(lsp).write_bytes(content)
        self.assertIn("not verified", self.succeeds("inspect", lsp).out)
        result = self.call("inspect", lsp, "--verify")
        self.assertEqual(result.status, 2)
        self.assertIn("bad", result.out)
        self.assertIn("the checksum of code of host does not hold", result.err)

    def test_verify_of_a_model(self):
        self.refused("inspect", self.chain(), "--verify", says=["--verify", "is no artifact"])

    def test_explain(self):
        out = self.succeeds("explain", self.artifact()).out
        self.assertIn("Softmax#0", out)
        self.assertIn("kernel", self.succeeds("explain", self.artifact(), "--node", "Softmax#0").out)

    def test_explain_has_no_reasons(self):
        self.refused("explain", self.artifact(), "--between", "a", "b", says=["--between", "not the reasons"], way_out="ask the model")

    def test_explain_unknown_node(self):
        self.refused("explain", self.artifact(), "--node", "nobody", says=["--node", "no step of the artifact computes 'nobody'"])

    def test_explain_unknown_target(self):
        self.refused("explain", self.artifact(), "--target", "sm_90", says=["--target sm_90", "the artifact has host"])

    def test_other_shape_names_the_shapes_it_has(self):
        self.refused("run", self.artifact(), "--random", "1", "--shape", "x=9,8", says=["--shape x", "compiled for x f32[4x8]"])

    def test_other_input_shape_names_the_shapes_it_has(self):
        import tiny_onnx as onnx
        x = self.path("x.npy", onnx.npy(onnx.F32, (2, 8), [0] * 16))
        self.refused("run", self.artifact(), "--input", f"x={x}", says=["input 'x'", "compiled for f32[4x8]", "got f32[2x8]"],
                     way_out="--shape x=")

    def test_shape_of_unknown_input(self):
        self.refused("run", self.artifact(), "--random", "1", "--shape", "q=9", says=["--shape q", "no input 'q'"], way_out="x f32[4x8]")

    def test_dim(self):
        self.refused("run", self.artifact(), "--random", "1", "--dim", "n=2", says=["--dim", "fixed shapes: x f32[4x8]"])

    def test_explorer(self):
        self.refused("run", self.artifact(), "--random", "1", "--explorer", "none", says=["--explorer", "compiled already"])
        self.refused("run", self.artifact(), "--random", "1", "--libraries", "none", says=["--libraries", "compiled already"])

    def test_plan(self):
        self.refused("run", self.artifact(), "--random", "1", "--plan", "p", says=["--plan", "compiled already"])

    def test_missing_input(self):
        self.refused("run", self.artifact(), says=["input 'x'", "is not given"])

    def test_stage_that_it_lacks(self):
        self.refused("run", self.artifact(), "--random", "1", "--emit", "plan=-", says=["--emit plan", "no such stage for host"])

    def test_compile_of_an_artifact(self):
        self.refused("compile", self.artifact(), "-o", "n.lsp", says="compiled already", way_out=".onnx")

    def test_target_that_it_lacks(self):
        self.refused("run", self.artifact(), "--random", "1", "--target", "x86-64-v3", says=["x86-64-v3", "the program has host"])

    def test_no_target_for_the_device(self):
        self.refused("run", self.artifact("--target", "sm_90"), "--random", "1", "--device", "host", says=["device host", "sm_90"])

    def test_no_such_file(self):
        self.refused("run", "none.lsp", "--random", "1", says="none.lsp")

    def test_not_an_artifact(self):
        self.refused("run", self.path("x.lsp", "words"), "--random", "1", says=["x.lsp", "not"])

    def test_truncated(self):
        data = Path(self.artifact()).read_bytes()
        self.refused("run", self.path("x.lsp", data[:-100]), "--random", "1", says=["x.lsp", "truncated"])

    def test_flipped_bits(self):
        data = bytearray(Path(self.artifact()).read_bytes())
        for at in range(9, len(data), len(data) // 25):
            changed = bytearray(data)
            changed[at] ^= 0x10
            with self.subTest(at=at):
                result = self.call("run", self.path("x.lsp", bytes(changed)), "--random", "1")
                self.assertEqual(result.status, 2, f"{at}: {result.err}")
                self.assertIn("x.lsp", result.err)

    def test_newer_version(self):
        data = bytearray(Path(self.artifact()).read_bytes())
        data[8:12] = (77).to_bytes(4, "little")
        self.refused("run", self.path("x.lsp", bytes(data)), "--random", "1", says=["x.lsp", "77"])

    def test_folder_that_is_not_there(self):
        self.refused("compile", self.chain(), "-o", "no/such/m.lsp", says=["no/such/m.lsp", "cannot be written"])

    def test_output_over_the_model(self):
        model = self.chain()
        self.refused("compile", model, "-o", model, says=["-o", "is the model itself"])

    def test_artifact_is_known_by_its_content(self):
        data = Path(self.artifact()).read_bytes()
        self.succeeds("run", self.path("renamed.bin", data), "--random", "1")


class Weights(CommandTest):
    """Artifacts that refer to the model's file."""

    def model(self):
        import tiny_onnx as onnx
        w = onnx.tensor("w", onnx.F32, (32, 32), [(i % 7) / 4 for i in range(1024)])
        return self.path("models/m.onnx", onnx.model([onnx.node("MatMul", ["x", "w"], ["y"], "product")], [onnx.value("x", onnx.F32, (4, 32))],
                                                     [onnx.value("y", onnx.F32, (4, 32))], [w]))

    def refers(self):
        self.model()
        (self.folder / "out").mkdir(exist_ok=True)
        self.succeeds("compile", "models/m.onnx", "-o", "out/m.lsp", "--weights", "refer")
        return self.folder / "out/m.lsp"

    def test_same_outputs_and_a_smaller_file(self):
        lsp = self.refers()
        self.succeeds("compile", "models/m.onnx", "-o", "out/whole.lsp")
        self.assertLess(lsp.stat().st_size, (self.folder / "out/whole.lsp").stat().st_size - 3500)
        for name in ["m", "whole"]:
            self.succeeds("run", f"out/{name}.lsp", "--random", "3", "--save-outputs", name)
        self.assertEqual((self.folder / "m/0.npy").read_bytes(), (self.folder / "whole/0.npy").read_bytes())

    def test_embed_is_the_default(self):
        self.model()
        self.succeeds("compile", "models/m.onnx", "-o", "a.lsp")
        self.succeeds("compile", "models/m.onnx", "-o", "b.lsp", "--weights", "embed")
        self.assertEqual((self.folder / "a.lsp").read_bytes(), (self.folder / "b.lsp").read_bytes())

    def test_same_bytes_each_time(self):
        first = self.refers().read_bytes()
        self.assertEqual(first, self.refers().read_bytes())

    def test_the_path_counts_from_the_artifact(self):
        lsp = self.refers()
        both = self.folder / "moved"
        both.mkdir()
        (self.folder / "models").rename(both / "models")
        (self.folder / "out").rename(both / "out")
        self.succeeds("run", both / "out/m.lsp", "--random", "1")
        sections = json.loads(self.succeeds("inspect", both / "out/m.lsp", "--json", "--verify").out)["inspect"]["sections"]
        self.assertEqual([s["file"] for s in sections if s["what"] == "constant 'w'"], ["../models/m.onnx"])
        self.assertFalse(lsp.exists())

    def test_the_file_is_missing(self):
        self.refers()
        (self.folder / "models/m.onnx").unlink()
        self.refused("run", "out/m.lsp", "--random", "1", says=["models/m.onnx", "is not there", "out/m.lsp refers to it"],
                     way_out="--weights embed")

    def test_the_file_is_shorter(self):
        self.refers()
        file = self.folder / "models/m.onnx"
        file.write_bytes(file.read_bytes()[:-1])
        self.refused("run", "out/m.lsp", "--random", "1", says=["models/m.onnx", "is truncated: it has"])

    def test_the_file_is_longer(self):
        self.refers()
        file = self.folder / "models/m.onnx"
        file.write_bytes(file.read_bytes() + b"x")
        self.refused("run", "out/m.lsp", "--random", "1", says=["models/m.onnx", "has changed: it has"])

    def test_the_file_is_empty(self):
        self.refers()
        (self.folder / "models/m.onnx").write_bytes(b"")
        self.refused("run", "out/m.lsp", "--random", "1", says=["models/m.onnx", "is truncated: it has 0 bytes"])

    def test_the_weights_are_others(self):
        self.refers()
        file = self.folder / "models/m.onnx"
        content = file.read_bytes()
        at = content.index(b"\x00\x00\x80\x3f")
        file.write_bytes(content[:at] + b"\x00\x00\x81\x3f" + content[at + 4:])
        self.refused("run", "out/m.lsp", "--random", "1", says=["models/m.onnx", "has changed: the checksum of constant 'w'"],
                     way_out="compile the model again")

    def test_unknown_storage(self):
        self.refused("compile", self.model(), "-o", "m.lsp", "--weights", "zip", says=["--weights", "'zip' is none of"])


if __name__ == "__main__":
    unittest.main()
