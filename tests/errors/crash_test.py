"""What must not happen: the program stops with status 3, never by a signal, and says how to get there again."""
import signal
import subprocess
import time
import unittest

from harness import PROGRAM, CommandTest


class Crashes(CommandTest):
    def crash(self, number):
        """Sends a signal to a program that is running for ever."""
        command = [PROGRAM, "run", self.softmax(), "--random", "1", "--repeat", "1000000000", "--log-level", "info", "--report", "report.json"]
        with subprocess.Popen(command, cwd=self.folder, env={"TMPDIR": str(self.folder)}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True) as process:
            for line in process.stderr:
                if "running on" in line:
                    break
            time.sleep(0.05)
            process.send_signal(number)
            err = process.stderr.read()
            return process.wait(timeout=60), err

    def test_signals(self):
        for number in [signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL]:
            with self.subTest(number.name):
                for old in self.folder.glob("lockstitch-reproducer-*"):
                    old.unlink()
                status, err = self.crash(number)
                self.assertEqual(status, 3)
                self.assertIn("internal error: lockstitch stopped", err)
                self.assertIn(number.name, err)
                reproducer, = self.folder.glob("lockstitch-reproducer-*.txt")
                self.assertIn(str(reproducer), err)
                text = reproducer.read_text()
                self.assertIn("--repeat 1000000000", text)
                self.assertIn(str(self.folder), text)
                self.assertEqual(self.report()["error"]["status"], 3)

    def test_a_mapped_file_is_truncated(self):
        """While it is in use: status 2 and its name, not a signal."""
        import tiny_onnx as onnx
        w = onnx.tensor("w", onnx.F32, (1024, 1024), [0.5] * (1 << 20))
        model = self.path("m.onnx", onnx.model([onnx.node("MatMul", ["x", "w"], ["y"], "product")], [onnx.value("x", onnx.F32, (1, 1024))],
                                               [onnx.value("y", onnx.F32, (1, 1024))], [w]))
        file = 'odd "name".lsp'
        self.succeeds("compile", model, "-o", file)
        command = [PROGRAM, "run", file, "--random", "1", "--repeat", "1000000000", "--log-level", "info", "--report", "report.json"]
        with subprocess.Popen(command, cwd=self.folder, env={"TMPDIR": str(self.folder)}, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            for line in process.stderr:
                if "running on" in line:
                    break
            time.sleep(0.05)
            with open(self.folder / file, "r+b") as opened:
                opened.truncate(4096)
            err = process.stderr.read()
            status = process.wait(timeout=60)
        self.assertEqual(status, 2, err)
        self.assertIn(f"error: {file}: the file was truncated while it was in use", err)
        self.assertIn("-> put the file back", err)
        error = self.report()["error"]
        self.assertEqual(error["status"], 2)
        self.assertEqual(error["messages"][0]["where"], file)

    def test_out_of_memory(self):
        import resource
        import tiny_onnx as onnx
        model = self.path("big.onnx", onnx.model([onnx.node("Relu", ["x"], ["y"])], [onnx.value("x", onnx.F32, (1 << 30, 16))],
                                                 [onnx.value("y", onnx.F32, (1 << 30, 16))]))
        result = self.call("run", model, "--random", "1", "--report", "report.json",
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30)))
        self.assertEqual(result.status, 4, result.err)
        self.assertIn("out of memory", result.err)
        self.assertEqual(self.report()["error"]["status"], 4)


if __name__ == "__main__":
    unittest.main()
