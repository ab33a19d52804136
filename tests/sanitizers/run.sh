#!/usr/bin/env bash
# run.sh build: builds the unit tests that run under the address and undefined-behaviour sanitizers, in build/asan.
# run.sh test ROOM: builds them (cheap when they are built) and runs those of one room.
#
# Rooms that do not use MLIR: LLVM's libraries are not instrumented, and code that hands containers to them gives false reports.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

rooms=(cost_model runtime simulator frontends)

build() {
  [[ -f build/asan/build.ninja ]] || cmake --preset asan
  # All at once, also when ctest runs the rooms side by side: one ninja at a time, hence the lock.
  (
    flock 9
    cmake --build build/asan --target "${rooms[@]/%//all}"
  ) 9>build/asan/.lock
}

rooms=("${rooms[@]/#/tests/unit/}")
case ${1:-} in
build) build ;;
test)
  build
  ctest --test-dir "build/asan/tests/unit/${2:?which room}" --output-on-failure --no-tests=error
  ;;
*)
  sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
  ;;
esac
