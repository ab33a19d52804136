#!/usr/bin/env python3
"""Fetches models and makes their test cases: prepare.py [NAME...] (default: all of catalogue.py).

Writes .cache/models/NAME/cases/CASE/{input,output}_I.pb, the layout of the ONNX node tests. Expected outputs are ONNX
Runtime's on the CPU, its graph optimisations off, one thread. A case is made again when this code or the model changed.
"""
import hashlib
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import numpy as np  # noqa: E402
import onnx  # noqa: E402
from onnx import numpy_helper  # noqa: E402

from cases import cases_of  # noqa: E402
from catalogue import chosen  # noqa: E402
from fetch import fetch  # noqa: E402


def made_by():
    """A hash of everything that a case is made from, but the model, whose hash is pinned."""
    here = Path(__file__).resolve().parent
    files = [*sorted(here.glob("*.py")), here.parent / "requirements.txt"]
    return hashlib.sha256(b"".join(f.read_bytes() for f in files)).hexdigest()


def reference(path):
    """f(inputs) -> outputs, ONNX Runtime unoptimised."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return lambda inputs: session.run(None, inputs)


def write(folder, kind, names, arrays):
    for i, (name, array) in enumerate(zip(names, arrays, strict=True)):
        (folder / f"{kind}_{i}.pb").write_bytes(numpy_helper.from_array(np.ascontiguousarray(array), name).SerializeToString())


def prepare(model):
    fetch(model)
    stamp, run = made_by(), None
    for case in cases_of(model):
        mark = case.folder / "made_by"
        if mark.is_file() and mark.read_text() == stamp:
            continue
        if run is None:
            run = reference(model.folder / "model.onnx")
            graph = onnx.load(model.folder / "model.onnx").graph
            constants = {t.name for t in graph.initializer}
        inputs = case.inputs()
        outputs = run(inputs)
        words, right = case.answer(inputs, outputs)
        if not right:
            raise SystemExit(f"{model.name}/{case.name}: ONNX Runtime's own answer is not the expected one: {words}")
        case.folder.mkdir(parents=True, exist_ok=True)
        for old in case.folder.iterdir():
            old.unlink()
        names = [v.name for v in graph.input if v.name not in constants]
        write(case.folder, "input", names, [inputs[n] for n in names])
        write(case.folder, "output", [v.name for v in graph.output], outputs)
        mark.write_text(stamp)
        print(f"{model.name}/{case.name}: {words}", flush=True)


def main():
    for model in chosen(sys.argv[1:]):
        prepare(model)


if __name__ == "__main__":
    main()
