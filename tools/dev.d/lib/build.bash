# Configuring and building with the presets of CMakePresets.json.
# shellcheck shell=bash disable=SC2034,SC2154

lockstitch=build/release/bin/lockstitch

# configure PRESET [OPTIONS...]: only when there is no build yet, the presets changed, or options are given; ninja itself sees
# edited CMake files.
configure() {
  local preset=$1
  shift
  if [[ ! -f build/$preset/build.ninja || CMakePresets.json -nt build/$preset/build.ninja || $# -gt 0 ]]; then
    step "Configuring build/$preset" cmake --preset "$preset" "$@"
  fi
}

# build PRESET [TARGETS...]
build() {
  local preset=$1
  shift
  local -a targets=()
  (($# == 0)) || targets=(--target "$@")
  step "Building build/$preset${*:+ (${*})}" cmake --build "build/$preset" "${targets[@]}"
}
