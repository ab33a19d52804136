# The virtual environment .cache/venv: Python packages in pinned versions, nothing outside this folder.
# shellcheck shell=bash disable=SC2034,SC2154

venv=.cache/venv

# ensure_venv [REQUIREMENTS]: makes the environment and installs the file's packages unless they are there already.
ensure_venv() {
  # Debian's own Python, also where another one stands before it in PATH: the pinned versions are for it.
  local python=${LOCKSTITCH_PYTHON:-/usr/bin/python3} requirements=${1:-} stamp
  if ! "$venv/bin/python" -c 'import pip' 2>/dev/null; then
    rm -rf "$venv"
    step "Making the Python environment" "$python" -m venv "$venv"
  fi
  if [[ -n $requirements ]]; then
    stamp=$venv/$(basename "$requirements").installed
    if ! cmp -s "$requirements" "$stamp"; then
      step "Installing Python packages ($(basename "$requirements"))" \
        "$venv/bin/python" -m pip install --disable-pip-version-check --only-binary :all: -r "$requirements"
      cp "$requirements" "$stamp"
    fi
  fi
}
