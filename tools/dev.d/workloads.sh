# shellcheck shell=bash disable=SC2034,SC2154
# makes benchmark workloads (ONNX models with data) in build/workloads
#
# usage: tools/dev workloads [--check] [ARGUMENTS of bench/workloads/workloads.py]
#
# Without arguments: every workload in its small size. What the tests use is checked in under tests/data/workloads (why:
# docs/testing.md); --check makes those again and compares them byte for byte.
#   tools/dev workloads make bert --size full -o build/workloads/bert-full
ensure_packages
ensure_venv tools/requirements.txt
if [[ ${1:-} == --check ]]; then
  shown "Making the checked-in workloads again" "$venv/bin/python" bench/workloads/checked_in.py --check
elif (($# == 0)); then
  shown "Making the small workloads" "$venv/bin/python" bench/workloads/workloads.py make-all --size small -o build/workloads/small
else
  exec "$venv/bin/python" bench/workloads/workloads.py "$@"
fi
