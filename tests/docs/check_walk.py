#!/usr/bin/env python3
"""Re-runs every command shown in a document and compares its output with what is shown.

    check_walk.py [--update] [--bin FOLDER] FILE.md...

A fenced block of language `console` starts with one line "$ COMMAND"; the lines after it are its whole standard output. The
command runs in a shell in the repository's root, with FOLDER (default build/release/bin) first in PATH; it must succeed.
Only white space at the ends of lines and at the end of the block is ignored. --update writes what was really printed.
"""
import argparse
import difflib
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)


def trimmed(text):
    return "\n".join(line.rstrip() for line in text.splitlines()).rstrip()


def run(command, folder):
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=300)
    return done.returncode, trimmed(done.stdout), done.stderr.strip()


def check(file, folder, update):
    """(blocks, faults) of one document."""
    text = file.read_text(encoding="utf-8")
    faults = 0

    def renewed(match):
        nonlocal faults
        first, _, shown = match.group(1).partition("\n")
        line = text.count("\n", 0, match.start()) + 2
        if not first.startswith("$ "):
            print(f"{file}:{line}: a console block must start with '$ COMMAND'")
            faults += 1
            return match.group(0)
        status, printed, errors = run(first[2:], folder)
        if status:
            print(f"{file}:{line}: exit status {status}: {first[2:]}\n{errors}")
            faults += 1
            return match.group(0)
        if printed != trimmed(shown) and not update:
            print(f"{file}:{line}: the output of `{first[2:]}` is not what the document shows:")
            print("\n".join(difflib.unified_diff(trimmed(shown).splitlines(), printed.splitlines(), "shown", "printed", lineterm="", n=1)))
            faults += 1
        return f"```console\n{first}\n{printed}\n```"

    new, blocks = BLOCK.subn(renewed, text)
    if update and new != text:
        file.write_text(new, encoding="utf-8")
        print(f"{file}: updated")
    return blocks, faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--bin", type=Path, default=ROOT / "build/release/bin")
    args = parser.parse_args()
    blocks = faults = 0
    for file in args.files:
        b, f = check(file, args.bin.resolve(), args.update)
        if not b:
            print(f"{file}: shows no command")
        blocks, faults = blocks + b, faults + f + (not b)
    print(f"{blocks} blocks, {faults} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
