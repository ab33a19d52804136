"""Inputs for the models of catalogue.py, and what a right answer is.

A case is one set of inputs: the shapes of the published example, and others (batch sizes, lengths). Inputs are computed and
the same on every run. `answer(inputs, outputs)` says in words what the model answered and whether a person would agree.
"""
from dataclasses import dataclass
from typing import Callable

import numpy as np
import onnx

from catalogue import MODELS
from pictures import text_line, to_chw
from texts import TEXTS


@dataclass(frozen=True)
class Case:
    model: str
    name: str
    inputs: Callable  # () -> {input name: array}
    answer: Callable  # (inputs, outputs) -> (words, right)
    rtol: float = 1e-3
    atol: float = 1e-4

    @property
    def folder(self):
        return MODELS[self.model].folder / "cases" / self.name


# --- magika: which type a file has -----------------------------------------------------------------------------------
def magika_case(name, kinds):
    def inputs():
        rows = []
        for kind in kinds:
            data = TEXTS[kind].encode()
            begin, end = list(data.lstrip()[:1024]), list(data.rstrip()[-1024:])
            rows.append(begin + [256] * (1024 - len(begin)) + [256] * (1024 - len(end)) + end)
        return {"bytes": np.array(rows, np.int32)}

    def answer(given, outputs):
        import json

        labels = json.loads((MODELS["magika"].folder / "config.min.json").read_text())["target_labels_space"]
        said = [labels[int(np.argmax(row))] for row in outputs[0]]
        words = ", ".join(f"{label} ({row.max():.3f})" for label, row in zip(said, outputs[0]))
        return f"the files are {words}", said == list(kinds)

    return Case("magika", name, inputs, answer)


# --- ppocr_rec: which text a picture shows -----------------------------------------------------------------------------
def ppocr_case(name, width, *texts):
    def inputs():
        return {"x": np.concatenate([to_chw(text_line(t, width)) for t in texts])}

    def answer(given, outputs):
        proto = onnx.load(MODELS["ppocr_rec"].folder / "model.onnx", load_external_data=False)
        table = ["", *{p.key: p.value for p in proto.metadata_props}["character"].split("\n"), " "]
        read = []
        for indices in outputs[0].argmax(-1):
            kept = [i for n, i in enumerate(indices) if i != 0 and (n == 0 or i != indices[n - 1])]
            read.append("".join(table[i] for i in kept))
        right = [r.replace(" ", "") for r in read] == [t.replace(" ", "") for t in texts]
        return "reads " + ", ".join(f"'{r}'" for r in read), right

    return Case("ppocr_rec", name, inputs, answer)


# --- minilm_l3: which sentences mean something alike; ids of the BERT uncased vocabulary ----------------------------------
SENTENCES = {
    "guitar": [101, 1037, 2158, 2003, 2652, 1037, 2858, 1012, 102],  # a man is playing a guitar.
    "instrument": [101, 2619, 3248, 2019, 6490, 6602, 1012, 102],  # someone plays an acoustic instrument.
    # the compiler fuses many operators into one kernel.
    "compiler": [101, 1996, 21624, 19976, 2015, 2116, 9224, 2046, 2028, 16293, 1012, 102],
}


def minilm_case(name, length, *sentences):
    """`length` tokens, the rest of a sentence padded: the answer must not depend on the padding."""

    def inputs():
        rows = [SENTENCES[s] for s in sentences]
        ids = np.array([r + [0] * (length - len(r)) for r in rows], np.int64)
        mask = np.array([[1] * len(r) + [0] * (length - len(r)) for r in rows], np.int64)
        return {"input_ids": ids, "attention_mask": mask}

    def answer(given, outputs):
        vectors = outputs[3].astype(np.float64)
        unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        # What the model says of whole sentences; ONNX Runtime's figures without padding.
        known = {("guitar", "instrument"): 0.493, ("compiler", "guitar"): 0.130}
        words, right = [], True
        for i, first in enumerate(sentences):
            for j in range(i):
                likeness, pair = float(unit[i] @ unit[j]), tuple(sorted((first, sentences[j])))
                expected = 1.0 if pair[0] == pair[1] else known.get(pair)
                words.append(f"{pair[0]}~{pair[1]} {likeness:.3f}")
                right &= expected is None or abs(likeness - expected) < 0.002
        if len(sentences) == 1:
            length = float(np.linalg.norm(vectors[0]))
            return f"one sentence, a vector of length {length:.3f}", abs(length - 3.702) < 0.01
        return ", ".join(words), right

    return Case("minilm_l3", name, inputs, answer)


CASES = [
    magika_case("data_set", ["cpp", "python", "json", "html"]),
    magika_case("batch_1", ["python"]),
    magika_case("batch_7", ["rust", "css", "shell", "html", "json", "python", "cpp"]),
    ppocr_case("data_set", 320, "LOCKSTITCH 2026"),
    ppocr_case("narrow", 168, "KERNEL"),
    ppocr_case("batch_2_wide", 400, "STITCHED KERNELS 12", "PLANNER MEETS GPU"),
    minilm_case("data_set", 12, "guitar", "instrument", "compiler"),
    minilm_case("unpadded_1", 9, "guitar"),
    minilm_case("batch_5_long", 37, "compiler", "guitar", "instrument", "guitar", "compiler"),
]


def cases_of(model):
    return [case for case in CASES if case.model == model.name]
