#!/usr/bin/env python3
"""Makes the cases of cases.py: make_cases.py FOLDER. Needs the packages of tools/requirements.txt.

Writes FOLDER/OPERATOR/NAME/model.onnx, test_data_set_0/{input,output}_I.pb and `kind` (f32, f16 or bf16: which tolerance).
Expected outputs are ONNX Runtime's, unoptimised; where it lacks a type, ONNX's reference evaluator's; for f16 and bf16 those of
the same model in f32 on rounded inputs, rounded at the end. Nothing is made again while this code is the same.
"""
import hashlib
import shutil
import sys
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "bench" / "workloads")]
import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402
import onnx  # noqa: E402
from onnx import helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

from cases import define  # noqa: E402
from suite.dataset import run, serialised, session  # noqa: E402

TYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i8": np.int8, "i32": np.int32, "i64": np.int64,
         "u8": np.uint8, "bool": np.bool_}
DEFAULT_OPSET = 15


def onnx_type(dtype):
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


class Case:
    def __init__(self, op, name, inputs, attributes=None, opset=DEFAULT_OPSET, constants=(), outputs=1, dtype="f32",
                 captured=()):
        self.op, self.name, self.opset, self.outputs, self.dtype = op, name, opset, outputs, dtype
        self.attributes = dict(attributes or {})
        self.arrays = [None if x is None else np.asarray(x) for x in inputs]
        self.constants = constants
        self.captured = [np.asarray(x) for x in captured]  # inputs of the model that only the node's bodies read: c0, c1 ...
        if "to" in self.attributes:
            self.attributes["to"] = onnx_type(TYPES[self.attributes["to"]])
        if isinstance(self.attributes.get("value"), np.ndarray):
            self.attributes["value"] = numpy_helper.from_array(self.attributes["value"])

    def typed(self, wide):
        """Inputs in the case's type; for its f32 twin (`wide`) they hold the rounded values."""
        def convert(x):
            if x is None or x.dtype != np.float32:
                return x
            x = x.astype(TYPES[self.dtype])
            return x.astype(np.float32) if wide else x
        return [convert(x) for x in self.arrays]

    def model(self, wide=False):
        """(the model, its data by input name)."""
        names, inputs, constants, data = [], [], [], {}
        for i, x in enumerate(self.typed(wide)):
            # The same array given twice is the same value read twice.
            same = next((names[k] for k in range(i) if self.arrays[k] is self.arrays[i]), None)
            name = "" if x is None else same or f"x{i}"
            names.append(name)
            if x is None or same:
                continue
            if i in self.constants:
                constants.append(numpy_helper.from_array(x, name))
            else:
                inputs.append(helper.make_tensor_value_info(name, onnx_type(x.dtype), x.shape))
                data[name] = x
        for i, x in enumerate(self.captured):
            inputs.append(helper.make_tensor_value_info(f"c{i}", onnx_type(x.dtype), x.shape))
            data[f"c{i}"] = x
        results = [f"y{i}" for i in range(self.outputs)]
        node = helper.make_node(self.op, names, results, name=f"the_{self.op}", **self.attributes)
        graph = helper.make_graph([node], self.op, inputs, [onnx.ValueInfoProto(name=r) for r in results], constants)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8, producer_name="lockstitch-tests")
        inferred = onnx.shape_inference.infer_shapes(made, strict_mode=True, data_prop=True)
        del made.graph.output[:]
        made.graph.output.extend(inferred.graph.output)
        return made, data

    def expected(self, model, data):
        wide = self.dtype != "f32"
        if wide:
            model, data = self.model(wide=True)
        try:
            results = run(session(serialised(model)), data)
        except Exception as lacking:  # no kernel for the type
            if not any(words in str(lacking) for words in ("NOT_IMPLEMENTED", "Type Error", "No corresponding Numpy type")):
                raise
            results = ReferenceEvaluator(model).run(None, data)
        return [r.astype(TYPES[self.dtype]) if wide and r.dtype == np.float32 else r for r in results]

    def write(self, folder):
        model, data = self.model()
        outputs = self.expected(model, data)
        for value, array in zip(model.graph.output, outputs, strict=True):  # shapes that inference does not find
            value.CopyFrom(helper.make_tensor_value_info(value.name, onnx_type(array.dtype), array.shape))
        onnx.checker.check_model(model, full_check=True)
        case = folder / self.op / self.name
        (case / "test_data_set_0").mkdir(parents=True)
        (case / "model.onnx").write_bytes(serialised(model))
        (case / "kind").write_text(self.dtype)
        for i, value in enumerate(model.graph.input):
            (case / "test_data_set_0" / f"input_{i}.pb").write_bytes(serialised(numpy_helper.from_array(data[value.name], value.name)))
        for i, (value, array) in enumerate(zip(model.graph.output, outputs)):
            (case / "test_data_set_0" / f"output_{i}.pb").write_bytes(serialised(numpy_helper.from_array(np.ascontiguousarray(array) if array.ndim else array, value.name)))


def main():
    folder = Path(sys.argv[1]).resolve()
    code = [HERE / "cases.py", HERE / "control_flow.py", Path(__file__), HERE.parents[1] / "tools" / "requirements.txt"]
    stamp = hashlib.sha256(b"".join(f.read_bytes() for f in code)).hexdigest()
    if (folder / "made_by").is_file() and (folder / "made_by").read_text() == stamp:
        print(f"{folder}: made already")
        return
    shutil.rmtree(folder, ignore_errors=True)
    count, faults, seen = 0, [], set()

    def add(*args, **more):
        nonlocal count
        case = Case(*args, **more)
        assert (case.op, case.name) not in seen, f"two cases {case.op}/{case.name}"
        seen.add((case.op, case.name))
        try:
            case.write(folder)
            count += 1
        except Exception as error:  # a fault of cases.py: all of them are listed
            faults.append(f"{case.op}/{case.name} (opset {case.opset}): {str(error).splitlines()[0][:200]}")

    define(add)
    operators = sorted({op for op, _ in seen})
    listed = (HERE / "operators.txt").read_text().split() if (HERE / "operators.txt").is_file() else []
    if listed != operators:
        faults.append(f"operators.txt must list, one a line: {' '.join(operators)}")
    if faults:
        raise SystemExit("\n".join(faults))
    (folder / "made_by").write_text(stamp)
    print(f"{folder}: {count} cases of {len(operators)} operators")


if __name__ == "__main__":
    main()
