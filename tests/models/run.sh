#!/usr/bin/env bash
# run.sh SCRIPT ARGUMENTS: runs a script of tools/models in the Python environment that `tools/dev` makes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
python=.cache/venv/bin/python
if ! "$python" -c 'import numpy, onnx' 2>/dev/null; then
  echo "the Python environment with the test's packages is missing: run \`tools/dev models\` or \`tools/dev test\`" >&2
  exit 1
fi
exec "$python" "tools/models/$1" "${@:2}"
