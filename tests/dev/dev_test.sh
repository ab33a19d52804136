#!/usr/bin/env bash
# tools/dev lists its verbs, refuses unknown ones, and a failing step says which command failed and where its log is.
set -euo pipefail
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$repository"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fault() {
  echo "FAULT: $1" >&2
  cat "$work/out" >&2
  exit 1
}

# status_of EXPECTED COMMAND...: output in $work/out
status_of() {
  local expected=$1 status=0
  shift
  "$@" >"$work/out" 2>&1 </dev/null || status=$?
  [[ $status == "$expected" ]] || fault "exit status $status, not $expected: $*"
}

contains() { grep -qF -- "$1" "$work/out" || fault "the output lacks: $1"; }

status_of 0 tools/dev
for verb in bench build clean demo format lint models setup test workloads; do
  grep -qE "^  $verb +[a-z]" "$work/out" || fault "verb $verb is not listed with what it does"
  status_of 0 tools/dev "$verb" --help
  contains "usage: tools/dev $verb"
  status_of 0 tools/dev
done

status_of 2 tools/dev nothing
contains "there is no verb 'nothing'"
status_of 2 tools/dev lib/steps
status_of 1 tools/dev clean everything
contains "clean knows only --all"

# Steps, in a folder of their own.
steps() {
  cd "$work"
  # shellcheck disable=SC2034  # used by the sourced file
  root=$work
  # shellcheck source=/dev/null
  source "$repository/tools/dev.d/lib/steps.bash"
  step "A good one" true
  step "A bad one: two words" bash -c 'echo the reason; exit 7'
  echo "not reached"
}
status_of 1 bash -c "set -euo pipefail; repository='$repository' work='$work'; $(declare -f steps); steps"
contains "[1] A good one"
contains "| the reason"
contains "the step 'A bad one: two words' failed (exit status 7)"
contains "command: bash -c"
contains "log:     $work/build/logs/02-A-bad-one-two-words.log"
grep -q "not reached" "$work/out" && fault "the verb went on after a failed step"
grep -q "the reason" "$work/build/logs/02-A-bad-one-two-words.log" || fault "the log lacks the command's output"

# The list of packages: every line a package's name.
bash -c "source tools/dev.d/lib/packages.bash; listed_packages" >"$work/out"
contains "clang-22"
grep -vxE '[a-z0-9][a-z0-9+.-]+' "$work/out" && fault "not a package's name"
echo "tools/dev does what it should"
