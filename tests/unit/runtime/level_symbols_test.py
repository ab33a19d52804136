#!/usr/bin/env python3
"""Looks at the object files of runtime/library/level_kernels.cpp, one per CPU level.

Code for AVX-512 must not be reachable on a CPU without it. A function that such an object emits under a name that other
objects emit too (an inline function of Eigen or of the standard library) may be the copy that the linker keeps for the whole
program; an initialiser that runs at start-up would run everywhere. So: every global definition must carry the level in its
name, and there must be no start-up code.

usage: level_symbols_test.py NM LEVEL=OBJECT...
"""
import subprocess
import sys


def check(nm, level, path):
    problems = []
    out = subprocess.run([nm, "--defined-only", path], check=True, capture_output=True, text=True).stdout
    count = 0
    for line in out.splitlines():
        _, kind, name = line.split(maxsplit=2)
        if name.startswith("_GLOBAL__sub_I"):
            problems.append(f"start-up code {name}")
        # DW.ref.__gxx_personality_v0 is a pointer, the same in every object.
        if kind.islower() and kind not in "uvw" or name.startswith("DW.ref."):
            continue
        count += 1
        if f"LockstitchEigen_{level}" not in name and f"kLevelKernels_{level}" not in name:
            problems.append(f"shared name {name}")
    if count == 0:
        problems.append("no symbols at all")
    return [f"{level}: {problem}" for problem in problems]


def main():
    nm = sys.argv[1]
    problems, checked = [], 0
    for pair in sys.argv[2:]:
        level, path = pair.split("=", 1)
        problems += check(nm, level, path)
        checked += 1
    print("\n".join(problems) or f"{checked} objects are apart from each other")
    return 1 if problems or checked < 2 else 0


if __name__ == "__main__":
    sys.exit(main())
