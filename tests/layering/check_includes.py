#!/usr/bin/env python3
"""Every #include "room/..." of our code stays within the layering, and only compiler/codegen and compiler/driver see MLIR or LLVM.

CMake checks what a library links (cmake/LockstitchTargets.cmake); this checks headers, which need no linking, against the same
table. With --self-test it shows that it finds a fault: a runtime file that includes a compiler header, and others.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("compiler", "cost_model", "frontends", "runtime", "tools")
LLVM_ROOMS = ("compiler/codegen/", "compiler/driver/")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


def table():
    """Room -> prefixes of folders that it may include, itself first."""
    text = (ROOT / "cmake" / "LockstitchTargets.cmake").read_text(encoding="utf-8")
    found = re.findall(r'set\(LOCKSTITCH_ROOM_MAY_USE_(\w+) "([^"]*)"\)', text)
    return {room: [room, *filter(None, allowed.split(";"))] for room, allowed in found}


def faults(file, text, allowed):
    """What is wrong with `text`, the content of the repository's `file`."""
    room, out = file.split("/", 1)[0], []
    for _, header in INCLUDE.findall(text):
        if header.split("/", 1)[0] in ROOMS:
            if not any(header.startswith(prefix + "/") for prefix in allowed[room]):
                out.append(f"{file}: must not include {header}: {room} may use {', '.join(allowed[room])}")
        elif header.startswith(("mlir/", "llvm/", "lld/", "mlir-c/", "llvm-c/")) and room != "tests" and not file.startswith(LLVM_ROOMS):
            out.append(f"{file}: must not include {header}: only {' and '.join(LLVM_ROOMS)} see MLIR and LLVM")
    return out


def main():
    allowed = table()
    assert set(ROOMS) <= set(allowed), f"the table has only {sorted(allowed)}"
    if sys.argv[1:] == ["--self-test"]:
        assert not faults("runtime/a.cpp", '#include "runtime/program/status.h"\n#include <vector>', allowed)
        for file, header in (("runtime/a.cpp", '"compiler/graph/dim.h"'), ("cost_model/a.cpp", '"runtime/program/status.h"'),
                             ("compiler/planner/a.cpp", '"runtime/session/session.h"'), ("compiler/planner/a.cpp", '"mlir/IR/Value.h"'),
                             ("runtime/a.h", "<llvm/ADT/SmallVector.h>"), ("frontends/onnx/a.cpp", '"tools/examples/a.h"')):
            assert len(faults(file, f"#include {header}\n", allowed)) == 1, (file, header)
        print("finds what it should find")
        return
    files = [p for room in (*ROOMS, "tests", "bench") for p in sorted((ROOT / room).rglob("*")) if p.suffix in (".h", ".cpp", ".inc")]
    found = [f for p in files for f in faults(str(p.relative_to(ROOT)), p.read_text(encoding="utf-8"), allowed)]
    print("\n".join(found) or f"{len(files)} files keep to the layering")
    sys.exit(1 if found or not files else 0)


if __name__ == "__main__":
    main()
