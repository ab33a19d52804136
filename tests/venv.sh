#!/usr/bin/env bash
# venv.sh SCRIPT ARGUMENTS: runs a Python script in the environment that `tools/dev` makes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=.cache/venv/bin/python
if ! "$python" -c 'import numpy, onnx, onnxruntime, ml_dtypes' 2>/dev/null; then
  echo "the Python environment with the tests' packages is missing: run \`tools/dev setup\`" >&2
  exit 1
fi
exec "$python" "$@"
