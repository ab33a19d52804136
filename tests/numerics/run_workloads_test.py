#!/usr/bin/env python3
"""run_workloads.py finds what it must find: tested with a stand-in for the program that writes a report of our choice."""
import copy
import json
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

RUNNER = Path(__file__).resolve().parent / "run_workloads.py"
STAND_IN = """#!/usr/bin/env python3
import shutil, sys
from pathlib import Path
here = Path(__file__).parent
(here / "arguments").write_text("\\n".join(sys.argv[1:]))
if (here / "report.json").exists():
    shutil.copy(here / "report.json", sys.argv[sys.argv.index("--report") + 1])
sys.exit(int((here / "status").read_text()))
"""
GOOD = {"kernels": [{"name": "k", "findings": None}], "library_calls": [], "host_steps": [],
        "totals": {"kernels": 1, "library_calls": 0}, "checks": [{"output": "y", "max_abs": 0.0, "ok": True}]}


class RunWorkloads(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = Path(self.folder.name)
        program = self.path / "lockstitch"
        program.write_text(STAND_IN)
        program.chmod(program.stat().st_mode | stat.S_IXUSR)

    def run_with(self, report, status=0, explorers="fusionstitching", name="small/kernels/softmax"):
        (self.path / "status").write_text(str(status))
        (self.path / "report.json").unlink(missing_ok=True)
        if report is not None:
            (self.path / "report.json").write_text(report if isinstance(report, str) else json.dumps(report))
        done = subprocess.run([sys.executable, RUNNER, "--lockstitch", self.path / "lockstitch", "--work", self.path / "work",
                               "--explorers", explorers, name], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def changed(self, **parts):
        return {**copy.deepcopy(GOOD), **parts}

    def test_passes(self):
        status, out = self.run_with(GOOD)
        self.assertEqual(status, 0, out)
        arguments = (self.path / "arguments").read_text().splitlines()
        self.assertEqual(arguments[arguments.index("--rtol") + 1], "0.0001")
        self.assertIn("--check", arguments)

    def test_half_types_have_their_own_tolerance(self):
        self.run_with(GOOD, name="small_f16/kernels/softmax")
        arguments = (self.path / "arguments").read_text().splitlines()
        self.assertEqual(arguments[arguments.index("--atol-rms") + 1], "0.01")

    def test_exit_status(self):
        for status in (1, 2, 3):
            self.assertEqual(self.run_with(GOOD, status=status)[0], 1)

    def test_no_report(self):
        self.assertEqual(self.run_with(None)[0], 1)
        self.assertEqual(self.run_with("{")[0], 1)
        self.assertEqual(self.run_with({"totals": {}})[0], 1)

    def test_check_that_is_not_ok(self):
        status, out = self.run_with(self.changed(checks=[{"output": "y", "max_abs": 1.0, "ok": False}]))
        self.assertEqual(status, 1)
        self.assertIn("output y differs by 1.0", out)

    def test_nothing_checked(self):
        self.assertEqual(self.run_with(self.changed(checks=[]))[0], 1)

    def test_host_step(self):
        self.assertEqual(self.run_with(self.changed(host_steps=[{"name": "h", "reason": "none"}]))[0], 1)

    def test_finding(self):
        self.assertEqual(self.run_with(self.changed(kernels=[{"name": "k", "findings": [{"kind": "race", "message": "m"}]}]))[0], 1)

    def test_too_many_kernels(self):
        two = self.changed(kernels=[{"name": "a", "findings": None}, {"name": "b", "findings": []}], totals={"kernels": 2, "library_calls": 0})
        status, out = self.run_with(two)
        self.assertEqual(status, 1)
        self.assertIn("2 kernels, at most 1 are allowed: a, b", out)
        self.assertEqual(self.run_with(two, explorers="none")[0], 0)  # alone, each primitive is a kernel

    def test_count_that_contradicts_the_list(self):
        self.assertEqual(self.run_with(self.changed(totals={"kernels": 0, "library_calls": 0}))[0], 1)

    def test_unknown_workload(self):
        self.assertEqual(self.run_with(GOOD, name="small/nothing")[0], 2)


if __name__ == "__main__":
    unittest.main()
