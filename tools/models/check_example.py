#!/usr/bin/env python3
"""Runs the example program (tools/examples/magika.cpp) on small files of known types and checks what it prints.

    check_example.py PROGRAM

More files than one batch, files that the model is not asked about, and the messages of a missing file and of a wrong model.
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from catalogue import MODELS  # noqa: E402
from texts import TEXTS  # noqa: E402

FOLDER = MODELS["magika"].folder


def call(program, files, model=FOLDER / "model.onnx"):
    return subprocess.run([program, "--model", model, "--config", FOLDER / "config.min.json", "--types",
                           FOLDER / "content_types_kb.min.json", *files], capture_output=True, text=True, stdin=subprocess.DEVNULL)


def expect(condition, what, done):
    if not condition:
        raise SystemExit(f"FAULT: {what}\n{done.stdout}{done.stderr}")


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as name:
        folder, wanted = Path(name), {}
        for kind, text in TEXTS.items():
            for copy in range(3):  # 21 files: a batch of 16, and one that is filled up
                (folder / f"{kind}{copy}").write_text(text)
                wanted[f"{kind}{copy}"] = kind
        for file, content, kind in (("nothing", b"", "empty"), ("few", b"abc", "txt"), ("blank", b"\n" * 99, "txt"), ("odd", b"\xff\xfe", "unknown")):
            (folder / file).write_bytes(content)
            wanted[file] = kind
        (folder / "folder").mkdir()
        wanted["folder"] = "directory"

        done = call(program, [folder / f for f in wanted])
        expect(done.returncode == 0, f"exit status {done.returncode}", done)
        told = {Path(m[1]).name: (m[2], float(m[3])) for m in re.finditer(r"^(\S+) +(\w+) +([\d.]+)", done.stdout, re.M)}
        for file, kind in wanted.items():
            expect(file in told, f"nothing is said of {file}", done)
            expect(told[file][0] == kind, f"{file} is said to be {told[file][0]}, not {kind}", done)
            expect(told[file][1] > (0.9 if file[-1].isdigit() else 0.999), f"{file} has score {told[file][1]}", done)
        for figure in ("nodes in", "kernels out", "library calls", "compile time", "run time"):
            expect(re.search(rf"^ +{figure}.* [\d.]+( ms)?$", done.stdout, re.M), f"the table lacks '{figure}'", done)

        done = call(program, [folder / "nothing"])
        expect(done.returncode == 0 and "compiled" not in done.stdout, "a file that needs no model starts the compiler", done)
        done = call(program, [folder / "missing", folder / "few", folder / "gone"])
        expect(done.returncode == 2 and done.stderr.count("there is no such file") == 2, "missing files are not all named", done)
        done = call(program, [folder / "cpp0"], folder / "html0")
        expect(done.returncode == 2 and "html0" in done.stderr, "a model that is none is not refused", done)
        done = call(program, [folder / "cpp0"], MODELS["minilm_l3"].folder / "model.onnx")
        expect(done.returncode == 2 and done.stderr, "another model is not refused", done)
    print(f"{len(wanted)} files told right")


if __name__ == "__main__":
    main()
