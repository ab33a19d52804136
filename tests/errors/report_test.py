"""The report: every key, on every way out; exit statuses."""
import json
import unittest

import tiny_onnx as onnx
from harness import CommandTest

TOP = ["report", "lockstitch", "options", "plan", "model", "target", "device", "explorer", "error", "kernels", "library_calls", "host_steps",
       "totals", "compile_cpu_seconds", "run_seconds", "checks"]
KERNEL = ["name", "code", "nodes", "schemes", "launches", "grid", "block", "shared_bytes", "registers", "spill_bytes", "waves", "sms_busy",
          "bytes_in_flight_per_sm", "bytes_read", "bytes_written", "estimated_us", "compile_cpu_ms", "counters", "findings"]
COUNTERS = ["thread_instructions", "warp_instructions", "sectors_read", "sectors_written", "shared_conflicts", "barriers", "shuffles", "atomics"]
LIBRARY = ["name", "nodes", "kind", "epilogue", "calls", "bytes_read", "bytes_written"]
TOTALS = ["nodes", "kernels", "launches", "distinct_kernels", "floor_kernels", "library_calls", "kernel_bytes", "library_bytes", "arena_bytes",
          "constant_bytes"]
SECONDS = ["total", "import", "graph", "plan", "schedule", "codegen_ptx", "codegen_host", "link"]
RUN = ["min", "median", "max", "runs"]
MESSAGE = ["node", "where", "reason", "way_out"]
SCHEMES = {"packing", "thread", "warp", "block", "grid"}


class Reports(CommandTest):
    def schema(self, report):
        def has(value, keys):
            self.assertEqual([k for k in keys if k not in value], [])
        has(report, TOP)
        self.assertEqual(report["report"], 1)
        for name in ["kernels", "library_calls", "host_steps", "checks"]:
            self.assertIsInstance(report[name], list)
        for kernel in report["kernels"]:
            has(kernel, KERNEL)
            self.assertLessEqual(set(kernel["schemes"]), SCHEMES)
            if kernel["counters"] is not None:
                has(kernel["counters"], COUNTERS)
        for call in report["library_calls"]:
            has(call, LIBRARY)
            self.assertIn(call["kind"], ["matmul", "conv", "conv_transpose", "lstm", "gru", "rnn", "attention", "sort"])
        has(report["totals"], TOTALS)
        has(report["compile_cpu_seconds"], SECONDS)
        has(report["run_seconds"], RUN)
        if report["error"] is not None:
            self.assertIn(report["error"]["status"], [1, 2, 3, 4])
            self.assertTrue(report["error"]["messages"])
            for message in report["error"]["messages"]:
                has(message, MESSAGE)
        return report

    def report_of(self, *arguments, status=0):
        result = self.call(*arguments, "--report", "report.json")
        self.assertEqual(result.status, status, result.err)
        report = self.schema(self.report())
        self.assertEqual(report["error"] is None, status == 0)
        if status:
            self.assertEqual(report["error"]["status"], status)
        return report

    def test_run(self):
        report = self.report_of("run", self.chain(), "--random", "1", "--repeat", "5")
        self.assertEqual((report["model"], report["target"], report["device"], report["explorer"]),
                         ("chain", "host", "host", "fusionstitching"))
        self.assertEqual([k["nodes"] for k in report["kernels"]], [["Softmax#0"], ["scale", "Softmax#1"]])
        self.assertEqual([c["nodes"] for c in report["library_calls"]], [["product"]])
        self.assertEqual(report["library_calls"][0]["kind"], "matmul")
        self.assertEqual(report["host_steps"], [])
        totals = report["totals"]
        self.assertEqual((totals["nodes"], totals["kernels"], totals["launches"], totals["library_calls"]), (6, 2, 2, 1))
        self.assertEqual(totals["floor_kernels"], 2)
        self.assertEqual(totals["kernel_bytes"], sum(k["bytes_read"] + k["bytes_written"] for k in report["kernels"]))
        self.assertEqual(report["kernels"][0]["bytes_read"], 4 * 8 * 4)
        self.assertEqual(report["kernels"][0]["bytes_written"], 4 * 8 * 4)
        seconds = report["run_seconds"]
        self.assertEqual(seconds["runs"], 5)
        self.assertTrue(0 < seconds["min"] <= seconds["median"] <= seconds["max"])
        self.assertGreater(report["compile_cpu_seconds"]["total"], 0)
        for key in ["grid", "block", "shared_bytes", "registers", "counters"]:
            self.assertIsNone(report["kernels"][0][key])

    def test_explorer_none_has_one_kernel_per_primitive(self):
        report = self.report_of("run", self.chain(), "--random", "1", "--explorer", "none")
        self.assertEqual(report["explorer"], "none")
        self.assertGreater(report["totals"]["kernels"], 2)

    def test_compile(self):
        report = self.report_of("compile", self.chain(), "-o", "m.lsp", "--target", "sm_90")
        self.assertEqual(report["target"], "sm_90")
        self.assertIsNone(report["device"])
        self.assertEqual(report["run_seconds"], {"min": None, "median": None, "max": None, "runs": 0})
        for kernel in report["kernels"]:
            self.assertEqual(len(kernel["grid"]), 3)
            self.assertEqual(len(kernel["block"]), 3)
            self.assertGreater(kernel["waves"], 0)

    def test_every_target(self):
        report = self.report_of("compile", self.chain(), "-o", "m.lsp", "--target", "x86-64-v2", "--target", "sm_90", "--target", "host")
        self.assertEqual(report["target"], "x86-64-v2")
        self.assertEqual([t["target"] for t in report["targets"]], ["x86-64-v2", "sm_90", "host"])
        for key in ["kernels", "library_calls", "host_steps", "totals", "prologue_kernels"]:
            self.assertEqual(report["targets"][0][key], report[key])
        gpu = report["targets"][1]
        self.assertIsNotNone(gpu["kernels"][0]["grid"])
        self.assertIsNone(report["kernels"][0]["grid"])
        self.assertGreater(gpu["totals"]["kernels"], 0)

    def test_inspect_explain(self):
        self.assertIn("inspect", self.report_of("inspect", self.chain()))
        self.assertTrue(self.report_of("explain", self.chain())["decisions"])

    def test_json_on_standard_output_is_the_report(self):
        out = self.succeeds("run", self.chain(), "--random", "1", "--json", "--report", "report.json").out
        self.assertEqual(json.loads(out), self.report())

    def test_equal_kernels_have_equal_code(self):
        nodes = [onnx.node("Softmax", ["x"], ["a"], axis=-1), onnx.node("MatMul", ["a", "w"], ["b"]),
                 onnx.node("Softmax", ["b"], ["c"], axis=-1), onnx.node("MatMul", ["c", "w"], ["d"]),
                 onnx.node("Softmax", ["d"], ["y"], axis=-1)]
        model = self.path("same.onnx", onnx.model(nodes, [onnx.value("x", onnx.F32, (4, 8))], [onnx.value("y", onnx.F32, (4, 8))],
                                                  [onnx.tensor("w", onnx.F32, (8, 8), [1.0] * 64)]))
        report = self.report_of("run", model, "--random", "1")
        self.assertEqual(len({k["code"] for k in report["kernels"]}), 1)
        self.assertEqual((report["totals"]["kernels"], report["totals"]["distinct_kernels"]), (3, 1))

    def test_hashes(self):
        first = self.report_of("run", self.chain(), "--random", "1")
        again = self.report_of("run", self.chain(), "--random", "2")
        other = self.report_of("run", self.chain(), "--random", "1", "--explorer", "none")
        self.assertEqual((first["options"], first["plan"]), (again["options"], again["plan"]))
        self.assertNotEqual(first["plan"], other["plan"])
        self.assertNotEqual(first["options"], other["options"])

    def test_wrong_command_line(self):
        report = self.report_of("run", self.chain(), "--threads", "x", status=2)
        self.assertEqual(report["error"]["messages"][0]["where"], "command line")
        self.report_of("run", status=2)
        self.report_of("frob", status=2)

    def test_refused(self):
        report = self.report_of("run", "nowhere.onnx", status=2)
        self.assertEqual(report["kernels"], [])
        report = self.report_of("run", self.chain(), status=2)
        self.assertEqual(report["model"], "chain")
        self.assertEqual(report["error"]["messages"], [{"node": None, "where": "input 'x'", "reason": "is not given",
                                                        "way_out": report["error"]["messages"][0]["way_out"]}])

    def test_check_failed(self):
        self.path("d/input_0.pb", onnx.tensor("x", onnx.F32, (2, 3), range(6)))
        self.path("d/output_0.pb", onnx.tensor("y", onnx.F32, (2, 3), [9] * 6))
        report = self.report_of("run", self.relu(), "--data-set", "d", "--check", status=1)
        self.assertFalse(report["checks"][0]["ok"])
        self.assertTrue(report["kernels"])

    def test_device_failed(self):
        self.report_of("run", self.chain(), "--random", "1", "--memory-cap", "1", status=4)

    def test_file_that_cannot_be_written(self):
        result = self.call("run", self.chain(), "--random", "1", "--report", "no/such/report.json")
        self.assertEqual(result.status, 2)
        self.assertIn("--report: 'no/such/report.json' cannot be written", result.err)

    def test_names_with_any_bytes(self):
        model = self.path("odd.onnx", onnx.model([onnx.node("Relu", ["x"], ["y"], b"\xff\"\n")], [onnx.value("x", onnx.F32, (2,))],
                                                 [onnx.value("y", onnx.F32, (2,))]))
        self.report_of("run", model, "--random", "1")


if __name__ == "__main__":
    unittest.main()
