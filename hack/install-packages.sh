#!/usr/bin/env bash
# Installs missing Debian packages of the runtime parts. Prints nothing if there is nothing to do.
# Arguments: --optional (continue if packages cannot be installed), more programs as PROGRAM=PACKAGE or, if both have the same
# name, PROGRAM.
set -euo pipefail
cd "$(dirname "$0")/.."

# program → Debian package
declare -A packages=(
  [etcd]=etcd-server [etcdctl]=etcd-client [containerd]=containerd [runc]=runc
  [/usr/lib/cni/bridge]=containernetworking-plugins [iptables]=iptables [ip]=iproute2
  [/bin/busybox]=busybox-static [nft]=nftables [conntrack]=conntrack [ipset]=ipset
)
optional=false
for argument in "$@"; do
  case "$argument" in
    --optional) optional=true ;;
    -*) echo "$0: unknown option $argument" >&2 && exit 2 ;;
    *) packages[${argument%%=*}]=${argument#*=} ;;
  esac
done
missing=()
for program in "${!packages[@]}"; do
  command -v "$program" >/dev/null 2>&1 || missing+=("${packages[$program]}")
done
if [ ${#missing[@]} -gt 0 ]; then
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "Missing packages: ${missing[*]} (names as in Debian 12)." >&2
    echo "Install them with your system's package manager, or go on without containers: bin/orch up --runtime simulated" >&2
    $optional || exit 1
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
