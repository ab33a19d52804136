# shellcheck shell=bash disable=SC2034,SC2154
# formats our C++ with clang-format
#
# usage: tools/dev format [--check] [FILE...]
#
# Without files: every .cpp and .h under git. --check changes nothing and fails when a file is not formatted.
ensure_packages
mode=(-i)
if [[ ${1:-} == --check ]]; then
  mode=(--dry-run -Werror)
  shift
fi
files=("$@")
(($#)) || mapfile -t files < <(git ls-files -- '*.cpp' '*.h')
((${#files[@]})) || exit 0
status=0
clang-format-22 "${mode[@]}" "${files[@]}" || status=1
if ((status)); then
  fail "some files are not formatted" "way out: tools/dev format"
fi
say "${#files[@]} files are formatted"
