#!/usr/bin/env python3
"""The workloads that are checked in under tests/data/workloads, for the tests.

    checked_in.py           writes them
    checked_in.py --check   makes them again and compares: models and inputs byte for byte, expected outputs within a tenth of
                            the tolerance that the tests allow (ONNX Runtime's own sums depend on the CPU's vector width)

They are checked in because a test must not depend on the network or on a Python package, because the expected values then are
the same on every machine, and because they are small (5 MB) and never change: weights and inputs are a function of their names.
"""
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import numpy as np  # noqa: E402
import onnx  # noqa: E402

import workloads  # noqa: E402
from suite.measure import TOLERANCE  # noqa: E402
from suite.registry import WORKLOADS  # noqa: E402

HERE = Path(__file__).resolve().parents[2] / "tests" / "data" / "workloads"
MODELS = ["bert", "transformer", "vit", "llama"]
KERNELS = ["softmax", "softmax_decomposed", "log_softmax", "masked_softmax", "causal_softmax", "layer_norm", "layer_norm_tiny_rows",
           "bias_residual_layer_norm", "two_layer_norms", "rms_norm", "gelu_bias", "swiglu", "l2_normalize", "softmax_backward",
           "reduce_rows", "attention_core", "layer_norm_huge_row", "layer_norm_backward", "group_norm", "instance_norm",
           "batch_norm_train", "reduce_columns", "reduce_both_axes", "reduce_all", "transpose_add", "rotary", "wide_broadcast",
           "embedding_layer_norm", "reduce_then_broadcast_chain"]
KERNELS_F16 = ["softmax", "masked_softmax", "causal_softmax", "layer_norm", "bias_residual_layer_norm", "rms_norm", "gelu_bias", "swiglu",
               "attention_core", "group_norm", "rotary"]
SETS = {"small": ("f32", MODELS + KERNELS), "small_f16": ("f16", KERNELS_F16)}


def make(folder):
    for name, (dtype, chosen) in SETS.items():
        args = SimpleNamespace(size="small", dtype=dtype, opset=None, fused_ops=False, dynamic=False, set=[], shape=None, batch=None,
                               output=folder / name)
        for workload in chosen:
            workloads.make_all(WORKLOADS[workload], args)


def files(folder):
    return {p.relative_to(folder): p for p in sorted(folder.rglob("*")) if p.suffix in (".onnx", ".pb")}


def same(old, new, dtype):
    if old.read_bytes() == new.read_bytes():
        return True
    if not old.name.startswith("output_"):
        return False
    a, b = (onnx.numpy_helper.to_array(onnx.load_tensor(p)).astype(np.float64) for p in (old, new))
    rtol, atol = TOLERANCE[dtype]
    floor = atol if dtype == "f32" else atol * np.sqrt(np.mean(a * a))
    return a.shape == b.shape and bool((np.abs(a - b) <= 0.1 * (floor + rtol * np.abs(a))).all())


def main():
    if sys.argv[1:] == []:
        make(HERE)
        return
    if sys.argv[1:] != ["--check"]:
        raise SystemExit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder))
        old, new = files(HERE), files(Path(folder))
        faults = [f"only checked in: {p}" for p in old.keys() - new.keys()] + [f"not checked in: {p}" for p in new.keys() - old.keys()]
        faults += [f"differs: {p}" for p in old.keys() & new.keys() if not same(old[p], new[p], SETS[p.parts[0]][0])]
    for fault in sorted(faults):
        print(fault)
    print(f"{len(old)} files compared, {len(faults)} faults")
    sys.exit(1 if faults or not old else 0)


if __name__ == "__main__":
    main()
