#!/usr/bin/env python3
"""Runs prepared models with Lockstitch and checks values and answers.

    check.py [--lockstitch FILE] [--ways host,artifact] [--case CASE] [NAME...]
    check.py --list

Every case of every model (cases.py) is run in every way; a line each says what the model answered. Exit status 1 when a value
is out of tolerance, the decoded answer is wrong, the report shows a host step, or something is missing.

Ways: host | none (host, every primitive a kernel of its own) | artifact (compiled to a file first; its outputs must be those of
`host` bit for bit) | simulator.
"""
import argparse
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import numpy as np  # noqa: E402
import onnx  # noqa: E402
from onnx import numpy_helper  # noqa: E402

from cases import cases_of  # noqa: E402
from catalogue import MODELS, ROOT, chosen  # noqa: E402

WAYS = {
    "host": ["--device", "host"],
    "none": ["--device", "host", "--explorer", "none"],
    "artifact": ["--device", "host"],
    "simulator": ["--device", "simulator"],
}
LIMIT_SECONDS = 900


class Fault(Exception):
    pass


def call(command, log):
    """Runs `command`, its output in the file `log`; raises Fault when it fails."""
    with open(log, "w", encoding="utf-8") as out:
        print("$", *command, file=out, flush=True)
        try:
            status = subprocess.run(list(map(str, command)), stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                    timeout=LIMIT_SECONDS).returncode
        except subprocess.TimeoutExpired:
            raise Fault(f"took longer than {LIMIT_SECONDS} s; log: {log}") from None
    if status:
        tail = Path(log).read_text(encoding="utf-8", errors="replace").splitlines()[-12:]
        raise Fault(f"exit status {status} of: {' '.join(map(str, command))}\n    " + "\n    ".join(tail))


def tensors(folder, kind):
    files = sorted(folder.glob(f"{kind}_*.pb"), key=lambda p: int(p.stem.split("_")[1]))
    return [numpy_helper.to_array(onnx.load_tensor(f)) for f in files]


def saved_outputs(folder):
    """What --save-outputs wrote, in the order of the model's outputs."""
    listed = json.loads((folder / "outputs.json").read_text())
    return [np.load(folder / entry["file"]) for entry in listed]


def run(case, way, lockstitch, work):
    """One case in one way: (what the model answered, the report)."""
    model = MODELS[case.model].folder / "model.onnx"
    if not (case.folder / "made_by").is_file():
        raise SystemExit(f"{case.model}/{case.name} is not prepared: run tools/dev models")
    folder = work / f"{case.model}-{case.name}-{way}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if way == "artifact":
        artifact = folder / "model.lsp"
        call([lockstitch, "compile", model, "--data-set", case.folder, "-o", artifact], folder / "compile.log")
        model = artifact
    outputs, report = folder / "outputs", folder / "report.json"
    call([lockstitch, "run", model, "--data-set", case.folder, "--check", "--rtol", case.rtol, "--atol", case.atol,
          "--save-outputs", outputs, "--report", report, *WAYS[way]], folder / "run.log")

    data = json.loads(report.read_text())
    if data["host_steps"]:
        raise Fault(f"{len(data['host_steps'])} host steps, the first {data['host_steps'][0]}")
    got, want = saved_outputs(outputs), tensors(case.folder, "output")
    if [(g.shape, g.dtype) for g in got] != [(w.shape, w.dtype) for w in want]:
        raise Fault(f"outputs {[(g.shape, g.dtype.name) for g in got]}, expected {[(w.shape, w.dtype.name) for w in want]}")
    for i, (g, w) in enumerate(zip(got, want)):  # a second look, not by the program that is tested
        if not np.allclose(g, w, rtol=case.rtol, atol=case.atol, equal_nan=True):
            raise Fault(f"output {i} differs by up to {np.abs(g.astype(np.float64) - w).max():.3g}")
    if way == "artifact":
        plain = work / f"{case.model}-{case.name}-host" / "outputs"
        if not plain.is_dir():
            run(case, "host", lockstitch, work)
        if any(a.tobytes() != b.tobytes() for a, b in zip(got, saved_outputs(plain), strict=True)):
            raise Fault("the outputs of the artifact are not those of the model, bit for bit")
    words, right = case.answer(None, got)
    if not right:
        raise Fault(f"wrong answer: {words}")
    return words, data


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--lockstitch", type=Path, default=ROOT / "build/release/bin/lockstitch")
    parser.add_argument("--ways", default="host,artifact")
    parser.add_argument("--case", help="only this case")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "models", help="where outputs, reports and logs go")
    parser.add_argument("--list", action="store_true", help="names and what they are")
    args = parser.parse_args()
    if args.list:
        for model in MODELS.values():
            print(f"{model.name:12} {model.what:32} {model.package:46} {model.licence}")
        return
    ways = args.ways.split(",")
    if unknown := [w for w in ways if w not in WAYS]:
        parser.error(f"unknown way {', '.join(unknown)}; there are {', '.join(WAYS)}")
    if not args.lockstitch.is_file():
        raise SystemExit(f"{args.lockstitch} is missing: run tools/dev build")

    faults = runs = 0
    for model in chosen(args.names):
        for case in cases_of(model):
            if args.case not in (None, case.name):
                continue
            for way in ways:
                begin, runs = time.monotonic(), runs + 1
                try:
                    words, report = run(case, way, args.lockstitch.resolve(), args.work)
                    totals = report["totals"]
                    figures = f"{totals['nodes']} nodes, {totals['kernels']} kernels, {totals['library_calls']} library calls"
                    print(f"ok    {model.name}/{case.name} {way}: {words} ({figures}, {time.monotonic() - begin:.1f} s)", flush=True)
                except (Fault, OSError, ValueError, KeyError) as fault:  # also: no report, no outputs, not JSON
                    faults += 1
                    print(f"FAULT {model.name}/{case.name} {way}: {fault if isinstance(fault, Fault) else repr(fault)}", flush=True)
    if not runs:
        raise SystemExit(f"there is no case {args.case}")
    print(f"{runs - faults} passed, {faults} failed")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
