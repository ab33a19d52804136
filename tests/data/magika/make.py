#!/usr/bin/env python3
"""Writes expected.json beside this file: what the Python package does with some contents and scores. Needs magika==1.0.3.

config.min.json is the package's own (Apache-2.0, Google LLC); types.json holds, of its content_types_kb.min.json, what is read.
"""
import base64
import json
import random
import shutil
from pathlib import Path

import magika as package
from magika import Magika, PredictionMode
from magika.types import ContentTypeLabel, Seekable
import io

HERE = Path(__file__).resolve().parent
SOURCE = Path(package.__file__).parent

bits = random.Random(7)
noise = bytes(bits.randrange(256) for _ in range(9000))
CONTENTS = {
    "empty": b"",
    "one byte": b"a",
    "seven bytes": b"abcdefg",
    "seven bytes, not UTF-8": b"abcdef\xff",
    "eight bytes": b"abcdefgh",
    "eight bytes, one of them blank": b" bcdefgh",
    "blank": b" \t\r\n\v\f" * 900,
    "blank, then few": b"\n" * 5000 + b"abcdefghij",
    "few, then blank": b"abc" + b" " * 6000,
    "few in Latin-1, then blank": "Käse".encode("latin-1") + b" " * 300,
    "few in UTF-8, then blank": "Käse".encode() + b" " * 300,
    "a character cut by the block": "ä".encode() + b" " * 4093 + "ä".encode() + b" " * 50,
    "surrogate": b"\xed\xa0\x80ab",
    "overlong": b"\xc0\xaf",
    "overlong of three": b"\xe0\x80\xaf",
    "past the last code point": b"\xf4\x90\x80\x80",
    "the last code point": b"\xf4\x8f\xbf\xbf",
    "cut off": b"ab\xe2\x82",
    "other blanks are none": b"\x1c\x1d\x1e\x1f\x85\xa0abcdefg\x00\x00",
    "blank at both ends": b"  \n\tint main() { return 0; }\r\n\x0b ",
    "1023 bytes": noise[:1023],
    "1024 bytes": noise[:1024],
    "1025 bytes": noise[:1025],
    "4096 bytes": noise[:4096],
    "4097 bytes": noise[:4097],
    "more than two blocks": noise,
    "long blank ends": b"\n" * 4000 + noise[:2000] + b" " * 4000,
}


def contents(model):
    config = model._model_config
    for name, content in CONTENTS.items():
        result, features = model._get_result_or_features_from_seekable(Seekable(io.BytesIO(content)))
        entry = {"name": name, "content": base64.b64encode(content).decode()}
        if result is not None:
            entry["type"] = str(result.prediction.output.label)
        else:
            pad = config.padding_token
            entry["begin"] = base64.b64encode(bytes(t for t in features.beg if t != pad)).decode()
            entry["end"] = base64.b64encode(bytes(t for t in features.end if t != pad)).decode()
        yield entry


def decisions():
    labels = ["cpp", "python", "markdown", "crt", "ignorefile", "randombytes", "randomtxt", "txt", "pdf", "zig", "png"]
    for mode in PredictionMode:
        model = Magika(prediction_mode=mode)
        for label in labels:
            for score in (0.1, 0.4999, 0.5, 0.7499, 0.75, 0.8999, 0.9, 0.95, 0.9999):
                import numpy as np

                score = float(np.float32(score))
                output, reason = model._get_output_label_from_dl_label_and_score(ContentTypeLabel(label), score)
                yield {"mode": str(mode), "label": label, "score": score, "type": str(output), "reason": str(reason)}


def main():
    expected = {"contents": list(contents(Magika())), "decisions": list(decisions())}
    lines = json.dumps(expected["contents"]).replace("}, {", "},\n{"), json.dumps(expected["decisions"]).replace("}, {", "},\n{")
    (HERE / "expected.json").write_text(f'{{"contents": {lines[0]},\n"decisions": {lines[1]}}}\n')
    shutil.copy(SOURCE / "models" / "standard_v3_3" / "config.min.json", HERE / "config.min.json")
    types = json.loads((SOURCE / "config" / "content_types_kb.min.json").read_text())
    (HERE / "types.json").write_text(json.dumps({k: {"is_text": v["is_text"]} for k, v in sorted(types.items())}, indent=0) + "\n")


if __name__ == "__main__":
    main()
