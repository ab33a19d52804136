# shellcheck shell=bash disable=SC2034,SC2154
# from nothing to an answer: builds, fetches a model, tells the type of files
#
# usage: tools/dev demo [FILE...]
#
# Installs the packages, builds the example program (tools/examples/magika.cpp), fetches the model magika 1.0.3 and runs it on
# this CPU. Prints the type of each file with the model's score, and what the model was compiled to. Without files it takes a
# few of this repository's own.
ensure_packages
configure release
build release lockstitch magika
ensure_venv
step "Fetching the model magika (16 MB)" "$venv/bin/python" tools/models/fetch.py magika
model=.cache/models/magika

files=("$@")
if (($# == 0)); then
  files=(CMakeLists.txt CMakePresets.json README.md tools/dev tools/examples/magika.cpp tools/models/fetch.py
    tests/data/workloads/small/bert/model.onnx LICENSE)
fi
say
build/release/bin/magika --model "$model/model.onnx" --config "$model/config.min.json" \
  --types "$model/content_types_kb.min.json" -- "${files[@]}" || fail "the example program failed"
say
say "done in $(total_time); your own model next: build/release/bin/lockstitch run MODEL.onnx --random 1"
