# Debian packages: installs what tools/packages.txt lists and this machine lacks.
# shellcheck shell=bash disable=SC2034,SC2154

listed_packages() { sed 's/#.*//' tools/packages.txt | tr -s ' \t' '\n' | sed '/^$/d'; }

# Those of the list that are not installed.
missing_packages() {
  local installed
  # shellcheck disable=SC2046  # one word per package is what is wanted
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $(listed_packages) 2>/dev/null | sed -n 's/^installed //p') || true
  grep -vxF -f <(printf '%s\n' "${installed:-none}") <(listed_packages) || true
}

# apt-get as root, without questions; waits for another package manager to finish.
as_root_apt() {
  local -a sudo=()
  ((EUID == 0)) || sudo=(sudo)
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -y -q -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3 "$@"
}

ensure_packages() {
  if [[ ${LOCKSTITCH_SKIP_PACKAGES:-} == 1 ]]; then
    say "packages: not looked at (LOCKSTITCH_SKIP_PACKAGES=1)"
    return
  fi
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    fail "this is not Debian: cannot install packages" \
      "Install what tools/packages.txt lists (LLVM and MLIR 22 above all) and set LOCKSTITCH_SKIP_PACKAGES=1."
  fi
  local -a missing
  mapfile -t missing < <(missing_packages)
  if ((${#missing[@]} == 0)); then
    say "packages: all $(listed_packages | wc -l) installed"
    return
  fi
  if ((EUID != 0)) && ! command -v sudo >/dev/null; then
    fail "packages are missing and can be installed only by root or with sudo" "missing: ${missing[*]}"
  fi
  say "packages: ${#missing[@]} to install: ${missing[*]}"
  if ((EUID != 0)) && ! sudo -n true 2>/dev/null; then
    sudo -v || fail "sudo is needed to install packages" "missing: ${missing[*]}"
  fi
  # Lists of packages are fetched only when there are none, or when they do not know a package.
  if ! known_packages "${missing[@]}"; then
    step "Fetching Debian's package lists" as_root_apt update
  fi
  if ! known_packages "${missing[@]}"; then
    fail "Debian's package sources do not have: $(unknown_packages "${missing[@]}")" \
      "Lockstitch needs Debian 12 (bookworm) with its security updates, which bring LLVM 22."
  fi
  step "Installing ${#missing[@]} packages" install_packages "${missing[@]}"
}

unknown_packages() {
  local package
  for package in "$@"; do
    [[ $(apt-cache policy "$package" 2>/dev/null | sed -n 's/^ *Candidate: //p') =~ ^[^\(] ]] || printf '%s ' "$package"
  done
}

known_packages() { [[ -z $(unknown_packages "$@") ]]; }

# Old lists name versions that the mirror no longer has: then fetch new ones and try once more.
install_packages() {
  as_root_apt install --no-install-recommends "$@" && return
  echo "the installation failed: trying once more with fresh package lists"
  as_root_apt update
  as_root_apt install --no-install-recommends "$@"
}
