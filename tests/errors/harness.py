"""What the tests of the command line share: the program, an empty folder per test, small models.

The program is the environment variable LOCKSTITCH, else build/release/bin/lockstitch.
"""
import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import tiny_onnx as onnx

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("LOCKSTITCH", str(ROOT / "build/release/bin/lockstitch"))


class Result:
    def __init__(self, done):
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr


class CommandTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="lockstitch-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name, content):
        """Writes a file into the test's folder; returns its path."""
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(file)

    def call(self, *arguments, environment=None, **options):
        return Result(subprocess.run([PROGRAM, *map(str, arguments)], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True,
                                     text=True, errors="replace", timeout=120,
                                     env={**os.environ, "TMPDIR": str(self.folder), **(environment or {})}, **options))

    def succeeds(self, *arguments, **options):
        result = self.call(*arguments, **options)
        self.assertEqual(result.status, 0, result.err)
        return result

    def refused(self, *arguments, says, way_out=None, status=2):
        """The exit status, nothing on standard output, and an error line with all of `says` in one message."""
        result = self.call(*arguments)
        self.assertEqual(result.status, status, result.out + result.err)
        self.assertEqual(result.out, "")
        says = [says] if isinstance(says, str) else says
        lines = [line for line in result.err.splitlines() if "error: " in line or "failed: " in line]
        self.assertTrue(any(all(s in line for s in says) for line in lines), f"{says} not in\n{result.err}")
        if way_out is not None:
            self.assertIn("-> ", result.err)
            self.assertTrue(any(way_out in line for line in result.err.splitlines() if line.startswith("  -> ")),
                            f"{way_out} not in\n{result.err}")
        return result

    def report(self, name="report.json"):
        return json.loads((self.folder / name).read_text())

    # Models.

    def relu(self, dims=(2, 3), kind=onnx.F32, op="Relu"):
        """y = Relu(x)."""
        return self.path("relu.onnx", onnx.model([onnx.node(op, ["x"], ["y"], "act")], [onnx.value("x", kind, dims)],
                                                 [onnx.value("y", kind, dims)]))

    def softmax(self, dims=(4, 33)):
        return self.path("softmax.onnx", onnx.model([onnx.node("Softmax", ["x"], ["y"], "sm", axis=-1)],
                                                    [onnx.value("x", onnx.F32, dims)], [onnx.value("y", onnx.F32, dims)]))

    def chain(self):
        """Two softmaxes with a product between them, an Add that is folded, and a node that nothing needs."""
        nodes = [onnx.node("Softmax", ["x"], ["a"], "", axis=-1), onnx.node("Add", ["two", "two"], ["four"], "plus"),
                 onnx.node("MatMul", ["a", "w"], ["b"], "product"), onnx.node("Mul", ["b", "four"], ["c"], "scale"),
                 onnx.node("Softmax", ["c"], ["y"], "", axis=-1), onnx.node("Exp", ["x"], ["z"], "unused")]
        return self.path("chain.onnx", onnx.model(
            nodes, [onnx.value("x", onnx.F32, (4, 8))], [onnx.value("y", onnx.F32, (4, 8))],
            [onnx.tensor("w", onnx.F32, (8, 8), [(i % 5) / 4 for i in range(64)]), onnx.tensor("two", onnx.F32, (1,), [2.0])]))


if __name__ == "__main__":
    raise SystemExit("run one of the *_test.py files")
