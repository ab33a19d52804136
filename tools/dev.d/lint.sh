# shellcheck shell=bash disable=SC2034,SC2154
# clang-tidy, format and script checks on what changed
#
# usage: tools/dev lint [--all | --since COMMIT | FILE...]
#
# Without arguments: files that differ from the commit before the last one, and files not yet committed. Needs build/release
# configured (for its compile commands), which this verb does. .clang-tidy says which checks are on; all are errors.
ensure_packages
configure release
case ${1:-} in
--all) mapfile -t files < <(git ls-files) ;;
--since | '')
  since=${2:-$(git rev-parse --verify -q HEAD~1 || git rev-parse HEAD)}
  mapfile -t files < <({
    git diff --name-only --diff-filter=d "$since"
    git ls-files --others --exclude-standard
  } | sort -u)
  ;;
*) files=("$@") ;;
esac
sources=() headers_and_sources=() scripts=()
for file in "${files[@]}"; do
  [[ -f $file ]] || fail "there is no file $file"
  case $file in
  *.cpp) sources+=("$file") headers_and_sources+=("$file") ;;
  *.h) headers_and_sources+=("$file") ;;
  *.sh | *.bash | tools/dev | .ci/run) scripts+=("$file") ;;
  esac
done
faults=0
if ((${#headers_and_sources[@]})); then
  say "format: ${#headers_and_sources[@]} files"
  clang-format-22 --dry-run -Werror "${headers_and_sources[@]}" || faults=1
fi
if ((${#sources[@]})); then
  # clang-tidy parses every header, and MLIR's precompiled header must exist for that.
  build release
  say "clang-tidy: ${#sources[@]} files"
  printf '%s\0' "${sources[@]}" | xargs -0 -n 1 -P "$(nproc)" clang-tidy-22 -p build/release --quiet --warnings-as-errors='*' || faults=1
fi
if ((${#scripts[@]})) && command -v shellcheck >/dev/null; then
  say "shellcheck: ${#scripts[@]} files"
  shellcheck -x "${scripts[@]}" || faults=1
fi
((faults == 0)) || fail "lint found faults"
say "no faults ($(total_time))"
