#!/usr/bin/env python3
"""Runs the checked-in workloads with Lockstitch: values within tolerance, kernels within their limits. Standard library only.

    run_workloads.py --list
    run_workloads.py [--lockstitch FILE] [--devices host,simulator] [--explorers fusionstitching,xla,none,no-libraries] [NAME...]

NAME is SET/WORKLOAD as --list prints it (small/bert, small_f16/kernels/softmax); without names all of them. A line for each
run. Exit status 1 when a run fails, a check is not ok, a finding or a host step is reported, or there are more kernels than
kernel_limits.json allows (default explorer only).
"""
import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data" / "workloads"
LIMITS = Path(__file__).resolve().parent / "kernel_limits.json"

# error <= atol + atol_rms * (root mean square of the expected output) + rtol * |expected|. How far correct evaluations lie from
# each other was measured: ONNX Runtime optimised, and ONNX's reference evaluator in f64, need at most a tenth (f32) of these.
TOLERANCES = {
    "small": {"--rtol": 1e-4, "--atol": 1e-5},
    "small_f16": {"--rtol": 1e-2, "--atol": 0, "--atol-rms": 1e-2},
    "small_bf16": {"--rtol": 8e-2, "--atol": 0, "--atol-rms": 8e-2},
}
LIMIT_SECONDS = 600
NO_LIBRARIES = "no-libraries"


def workloads():
    """SET/WORKLOAD of every folder that holds a model."""
    return sorted(str(p.parent.relative_to(DATA)) for p in DATA.rglob("model.onnx"))


def run(name, device, explorer, lockstitch, work):
    """(what is wrong, or nothing; the report's totals)."""
    kind, workload = name.split("/", 1)
    folder, report = DATA / name, work / f"{name.replace('/', '-')}-{device}-{explorer}.json"
    report.parent.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    command = [lockstitch, "run", folder / "model.onnx", "--data-set", folder / "test_data_set_0", "--check", "--device", device,
               "--report", report]
    # A way to compile is an explorer, or the default one without libraries: then products are kernels too.
    command += ["--libraries", "none"] if explorer == NO_LIBRARIES else ["--explorer", explorer]
    for option, value in TOLERANCES[kind].items():
        command += [option, value]
    command = [str(c) for c in command]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        return [f"took longer than {LIMIT_SECONDS} s: {' '.join(command)}"], {}
    if done.returncode:
        tail = (done.stdout + done.stderr).strip().splitlines()[-12:]
        return [f"exit status {done.returncode}: {' '.join(command)}", *tail], {}
    try:
        data = json.loads(report.read_text(encoding="utf-8"))
        totals = data["totals"]
        faults = [f"output {c['output']} differs by {c['max_abs']}" for c in data["checks"] if not c["ok"]]
        faults += ["nothing was checked"] if not data["checks"] else []
        faults += [f"{f['kind']}: {f['message']}" for k in data["kernels"] for f in k["findings"] or []]
        faults += [f"host step {s['name']}: {s['reason']}" for s in data["host_steps"]]
        faults += ["a library was called"] if explorer == NO_LIBRARIES and totals["library_calls"] else []
        faults += [f"totals.kernels is {totals['kernels']}, {len(data['kernels'])} are listed"] if totals["kernels"] != len(data["kernels"]) else []
    except (OSError, ValueError, KeyError, TypeError) as error:
        return [f"the report {report} cannot be used: {error!r}"], {}
    limit = json.loads(LIMITS.read_text(encoding="utf-8")).get(kind, {}).get(workload)
    if explorer == "fusionstitching" and limit is not None and totals["kernels"] > limit:
        names = ", ".join(k["name"] for k in data["kernels"])
        faults.append(f"{totals['kernels']} kernels, at most {limit} are allowed: {names}")
    return faults, totals


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--lockstitch", type=Path, default=ROOT / "build/release/bin/lockstitch")
    parser.add_argument("--devices", default="host")
    parser.add_argument("--explorers", default="fusionstitching,xla,none")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "workload-reports", help="where the reports go")
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    known = workloads()
    if args.list:
        print("\n".join(known))
        return
    if unknown := [n for n in args.names if n not in known]:
        parser.error(f"there is no workload {', '.join(unknown)}; see --list")
    if not args.lockstitch.is_file():
        raise SystemExit(f"{args.lockstitch} is missing: run tools/dev build")
    passed = failed = 0
    for name in args.names or known:
        for device in args.devices.split(","):
            for explorer in args.explorers.split(","):
                begin = time.monotonic()
                faults, totals = run(name, device, explorer, args.lockstitch.resolve(), args.work)
                passed, failed = passed + (not faults), failed + bool(faults)
                figures = f"{totals.get('kernels')} kernels, {totals.get('library_calls')} library calls" if totals else ""
                print(f"{'FAULT' if faults else 'ok   '} {name} {device} {explorer}: {figures} ({time.monotonic() - begin:.1f} s)", flush=True)
                for fault in faults:
                    print(f"      {fault}", flush=True)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
