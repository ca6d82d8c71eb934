#!/usr/bin/env bash
# Installs public programs into .tools/ for the tests that run them: kubectl 1.20 and Prometheus from Debian's packages,
# the Python client in its own environment, and older releases of Node.js that the programs support. A program that cannot
# be installed is left out, and its tests are skipped.
set -uo pipefail
cd "$(dirname "$0")/.."
python_client=31.0.0
older_nodes=(22.23.5 24.22.3)
mkdir -p .tools/bin
source hack/node.sh

# Downloads a package and extracts some of its files into a folder, without installing it or starting a service.
unpack() {
  local package=$1 dir=$2
  shift 2
  command -v apt-get >/dev/null 2>&1 && command -v dpkg-deb >/dev/null 2>&1 || return 1
  chmod 755 "$dir"
  (cd "$dir" && { apt-get download -q "$package" || { apt-get update -q && apt-get download -q "$package"; }; }) >/dev/null 2>&1 &&
    dpkg-deb --fsys-tarfile "$dir/$package"_*.deb 2>/dev/null | tar -x -C "$dir" "$@" 2>/dev/null
}

kubectl() {
  [ ! -x .tools/bin/kubectl.1.20 ] || return 0
  local dir
  dir=$(mktemp -d .tools/kubectl.XXXXXX)
  unpack kubernetes-client "$dir" ./usr/bin/kubectl &&
    # Later releases of Debian have a later kubectl, which is not the version that the tests want.
    "$dir/usr/bin/kubectl" version --client 2>/dev/null | grep -q 'Minor:"20' &&
    mv "$dir/usr/bin/kubectl" .tools/bin/kubectl.1.20
  rm -rf "$dir"
}

prometheus() {
  command -v prometheus >/dev/null 2>&1 && command -v promtool >/dev/null 2>&1 && return 0
  [ ! -x .tools/bin/promtool ] || return 0
  local dir
  dir=$(mktemp -d .tools/prometheus.XXXXXX)
  unpack prometheus "$dir" ./usr/bin/prometheus ./usr/bin/promtool &&
    mv "$dir"/usr/bin/{prometheus,promtool} .tools/bin/
  rm -rf "$dir"
}

python() {
  local done=.tools/python/.installed-$python_client
  [ ! -e "$done" ] && command -v python3 >/dev/null 2>&1 || return 0
  rm -rf .tools/python
  python3 -m venv .tools/python >/dev/null 2>&1 &&
    .tools/python/bin/pip install -q --disable-pip-version-check "kubernetes==$python_client" >/dev/null 2>&1 &&
    touch "$done" || rm -rf .tools/python
}

older_nodes() {
  local dir version
  [ -n "$node_package" ] || return 0
  mkdir -p .tools/nodes
  for version in "${older_nodes[@]}"; do
    [ ! -x ".tools/nodes/$version" ] || continue
    dir=$(mktemp -d .tools/node.XXXXXX)
    npm install --prefix "$dir" --no-save --no-audit --no-fund --ignore-scripts --loglevel=error "$node_package@$version" \
      >/dev/null 2>&1 && mv "$dir/node_modules/$node_package/bin/node" ".tools/nodes/$version"
    rm -rf "$dir"
  done
}

# One after the other, because both use the system's package manager.
{ kubectl; prometheus; } &
python &
older_nodes &
wait
exit 0
