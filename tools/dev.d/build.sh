# shellcheck shell=bash disable=SC2034,SC2154
# makes build/release/bin/lockstitch
#
# usage: tools/dev build [--preset release|debug|asan|tsan] [TARGET...]
#
# Without a target everything that the preset has, tests included.
preset=release
if [[ ${1:-} == --preset ]]; then
  [[ $# -ge 2 ]] || fail "--preset needs a name: release, debug, asan or tsan"
  preset=$2
  shift 2
fi
ensure_packages
configure "$preset"
build "$preset" "$@"
if [[ -x build/$preset/bin/lockstitch ]]; then
  say "ready: build/$preset/bin/lockstitch ($(total_time))"
fi
