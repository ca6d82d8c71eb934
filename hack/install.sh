#!/usr/bin/env bash
# Installs what is missing: Debian's packages of the runtime parts, and the npm packages. Quiet when nothing is.
set -euo pipefail
cd "$(dirname "$0")/.."

# program → Debian package that has it
declare -A packages=(
  [etcd]=etcd-server [etcdctl]=etcd-client [containerd]=containerd [runc]=runc
  [/usr/lib/cni/bridge]=containernetworking-plugins [iptables]=iptables [ip]=iproute2
  [/bin/busybox]=busybox-static
)
missing=()
for program in "${!packages[@]}"; do
  command -v "$program" >/dev/null 2>&1 || missing+=("${packages[$program]}")
done
if [ ${#missing[@]} -gt 0 ]; then
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "Missing packages: ${missing[*]} (names as in Debian 12)." >&2
    echo "Install them with your system's package manager, or go on without containers: bin/orch up --runtime simulated" >&2
    [ "${1:-}" = --optional ] || exit 1
  else
    echo "Installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    apt-get install -y -q --no-install-recommends "${missing[@]}" >/dev/null 2>&1 ||
      { apt-get update -q >/dev/null && apt-get install -y -q --no-install-recommends "${missing[@]}" >/dev/null; }
    # Debian starts these as system services; a cluster runs its own.
    for service in etcd containerd; do
      for package in "${missing[@]}"; do
        case "$package" in $service*) command -v systemctl >/dev/null 2>&1 && systemctl disable --now "$service" >/dev/null 2>&1 || true ;; esac
      done
    done
  fi
fi

hack/install-node.sh
source hack/node.sh
# Not `npm ci`: it insists on packages of other platforms that a registry may not have.
# The lock file's sum rather than its age: git gives an older file a new age, and a newer one an old.
locked=$(sha256sum package-lock.json)
if [ "$(cat node_modules/.installed 2>/dev/null)" != "$locked" ]; then
  echo "Installing npm packages"
  npm install --no-save --no-audit --no-fund --loglevel=error
  echo "$locked" >node_modules/.installed
fi
