#!/usr/bin/env python3
"""Runs the cases that make_cases.py made: run_cases.py [--lockstitch FILE] [--cases FOLDER] [--devices ...] [--explorers ...] OP[/NAME]...

Values are checked by the program (--check) and once more here, from the outputs that it saved. A line for each fault; exit
status 1 when there is one, or when nothing was run.
"""
import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402
import onnx  # noqa: E402
from onnx import numpy_helper  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
# As for the workloads (docs/testing.md): rtol, atol, share of the expected output's root mean square.
TOLERANCES = {"f32": (1e-4, 1e-5, 0.0), "f16": (1e-2, 0.0, 1e-2), "bf16": (8e-2, 0.0, 8e-2)}
LIMIT_SECONDS = 120


def load(file):
    if file.suffix == ".npy":
        return np.load(file)
    return numpy_helper.to_array(onnx.load_tensor(file))


def difference(got, want, tolerance):
    """What is wrong with `got`, or nothing."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"is {got.dtype}{list(got.shape)}, expected {want.dtype}{list(want.shape)}"
    if want.dtype.kind in "biu":
        wrong = got != want
    else:
        a, b = got.astype(np.float64), want.astype(np.float64)
        rtol, atol, rms = tolerance
        finite = np.isfinite(b)
        floor = atol + rms * np.sqrt(np.mean(b[finite] ** 2)) if finite.any() else atol
        with np.errstate(invalid="ignore"):
            near = np.abs(a - b) <= floor + rtol * np.abs(b)
        wrong = ~np.where(finite, near, (a == b) | (np.isnan(a) & np.isnan(b)))
    if not wrong.any():
        return None
    at = tuple(int(i[0]) for i in np.nonzero(wrong))
    return f"{int(wrong.sum())} of {want.size} values wrong, first at {list(at)}: {got[at]}, expected {want[at]}"


def run(case, device, explorer, lockstitch, work):
    """What is wrong, or nothing."""
    outputs, report = work / "outputs", work / "report.json"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    kind = (case / "kind").read_text()
    rtol, atol, rms = TOLERANCES[kind]
    command = [lockstitch, "run", case / "model.onnx", "--data-set", case / "test_data_set_0", "--check", "--rtol", rtol, "--atol", atol,
               "--atol-rms", rms, "--device", device, "--explorer", explorer, "--save-outputs", outputs, "--report", report]
    try:
        done = subprocess.run([str(c) for c in command], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                              timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        return f"took longer than {LIMIT_SECONDS} s"
    if done.returncode:
        return f"exit status {done.returncode}: " + " | ".join((done.stdout + done.stderr).strip().splitlines()[-4:])[:500]
    try:
        listed = json.loads((outputs / "outputs.json").read_text())
        data = json.loads(report.read_text())
        wanted = sorted((case / "test_data_set_0").glob("output_*.pb"), key=lambda p: int(p.stem[7:]))
        if len(listed) != len(wanted):
            return f"{len(listed)} outputs, expected {len(wanted)}"
        for entry, want in zip(listed, wanted):
            if wrong := difference(load(outputs / entry["file"]), load(want), TOLERANCES[kind]):
                return f"{entry['name']} {wrong}"
        if data["host_steps"]:
            return f"host step {data['host_steps'][0]}"
        if findings := [f for k in data["kernels"] for f in k["findings"] or []]:
            return f"{findings[0]['kind']}: {findings[0]['message']}"
    except (OSError, ValueError, KeyError) as error:
        return f"no usable result: {error!r}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("chosen", nargs="*", metavar="OP[/NAME]")
    parser.add_argument("--lockstitch", type=Path, default=ROOT / "build/release/bin/lockstitch")
    parser.add_argument("--cases", type=Path, default=ROOT / "build" / "conformance")
    parser.add_argument("--devices", default="host")
    parser.add_argument("--explorers", default="fusionstitching")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "conformance-work")
    args = parser.parse_args()
    if not (args.cases / "made_by").is_file():
        raise SystemExit(f"there are no cases in {args.cases}: run tools/dev test, or tests/conformance/make_cases.py")
    if not args.lockstitch.is_file():
        raise SystemExit(f"{args.lockstitch} is missing: run tools/dev build")
    cases = sorted(p.parent for p in args.cases.glob("*/*/model.onnx"))
    names = [str(c.relative_to(args.cases)) for c in cases]
    if args.chosen:
        if unknown := [c for c in args.chosen if c not in names and not any(n.startswith(c + "/") for n in names)]:
            parser.error(f"there is no case {', '.join(unknown)}")
        cases = [c for c, n in zip(cases, names) if n in args.chosen or n.split("/")[0] in args.chosen]
    passed = failed = 0
    for case in cases:
        name = case.relative_to(args.cases)
        for device in args.devices.split(","):
            for explorer in args.explorers.split(","):
                fault = run(case, device, explorer, args.lockstitch.resolve(), args.work / name / f"{device}-{explorer}")
                passed, failed = passed + (fault is None), failed + (fault is not None)
                if fault:
                    print(f"FAULT {name} {device} {explorer}: {fault}", flush=True)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
