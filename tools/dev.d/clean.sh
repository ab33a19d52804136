# shellcheck shell=bash disable=SC2034,SC2154
# removes build/; with --all also the cache (models, Python environment)
#
# usage: tools/dev clean [--all]
case ${1:-} in
'') rm -rf build ;;
--all) rm -rf build .cache ;;
*) fail "clean knows only --all" ;;
esac
say "clean"
