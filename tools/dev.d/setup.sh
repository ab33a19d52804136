# shellcheck shell=bash disable=SC2034,SC2154
# installs what is missing: Debian packages, Python environment
#
# usage: tools/dev setup
#
# Packages come from tools/packages.txt, Python packages (in .cache/venv) from tools/requirements.txt. Every other verb does
# this by itself for what it needs. LOCKSTITCH_SKIP_PACKAGES=1 leaves Debian packages alone.
ensure_packages
ensure_venv tools/requirements.txt
say "everything is there ($(total_time))"
