# shellcheck shell=bash disable=SC2034,SC2154
# builds and runs the benchmarks
#
# usage: tools/dev bench [NAME...] [-- ARGUMENTS of Google Benchmark]
#
# Every program NAME_benchmark of bench/, or those named. Figures also go to build/bench/NAME.json.
names=()
while (($#)); do
  if [[ $1 == -- ]]; then
    shift
    break
  fi
  names+=("$1")
  shift
done
ensure_packages
configure release -DLOCKSTITCH_BUILD_BENCH=ON
build release
mkdir -p build/bench
((${#names[@]})) || mapfile -t names < <(find build/release/bin -name '*_benchmark' -type f -executable -printf '%f\n' | sed 's/_benchmark$//' | sort)
((${#names[@]})) || fail "there is no benchmark program in build/release/bin"
for name in "${names[@]}"; do
  program=build/release/bin/${name}_benchmark
  [[ -x $program ]] || fail "there is no benchmark '$name'" "programs: $(cd build/release/bin && echo ./*_benchmark)"
  shown "Benchmark $name" "$program" --benchmark_out="build/bench/$name.json" --benchmark_out_format=json "$@"
done
