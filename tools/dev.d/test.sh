# shellcheck shell=bash disable=SC2034,SC2154
# builds everything and runs all tests
#
# usage: tools/dev test [--fast] [ARGUMENTS of ctest]
#
# Unit tests, code generation, command line and its error messages, single operators and workloads on host and simulator, real
# models, documents, and the unit tests of cost_model, runtime and frontends under the address and undefined-behaviour
# sanitizers. Everything is registered with ctest, whose closing line is the last that is printed. --fast leaves out what needs
# a download or a second build. Anything else goes to ctest:  tools/dev test -R softmax
fast=0
if [[ ${1:-} == --fast ]]; then
  fast=1
  shift
fi
ensure_packages
configure release
build release
arguments=(--test-dir build/release --output-on-failure --no-tests=error -j "$(nproc)")
if ((fast)); then
  arguments+=(-LE 'sanitizer|models|conformance')
else
  ensure_venv tools/requirements.txt
  step "Fetching models and making their test cases" "$venv/bin/python" tools/models/prepare.py
  step "Building the tests with sanitizers" tests/sanitizers/run.sh build
fi
say "[$((steps_done + 1))] Running the tests (so far $(total_time)) ..."
exec ctest "${arguments[@]}" "$@" </dev/null
