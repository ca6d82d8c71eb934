#!/usr/bin/env bash
# Brings clients that others wrote into .tools/, for the tests that run them: kubectl 1.20 of Debian's package, and
# Python's client in an environment of its own. What cannot be had is left out; its tests are skipped then.
set -uo pipefail
cd "$(dirname "$0")/.."
python_client=31.0.0
mkdir -p .tools/bin

kubectl() {
  [ ! -x .tools/bin/kubectl.1.20 ] && command -v apt-get >/dev/null 2>&1 && command -v dpkg-deb >/dev/null 2>&1 || return 0
  local dir
  dir=$(mktemp -d .tools/kubectl.XXXXXX) && chmod 755 "$dir"
  (cd "$dir" && { apt-get download -q kubernetes-client || { apt-get update -q && apt-get download -q kubernetes-client; }; }) >/dev/null 2>&1 &&
    dpkg-deb -x "$dir"/kubernetes-client_*.deb "$dir" >/dev/null 2>&1 &&
    # Later releases of Debian have later versions: they are none the less a kubectl, but not this one.
    "$dir/usr/bin/kubectl" version --client 2>/dev/null | grep -q 'Minor:"20' &&
    mv "$dir/usr/bin/kubectl" .tools/bin/kubectl.1.20
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

kubectl &
python &
wait
exit 0
