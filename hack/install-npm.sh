#!/usr/bin/env bash
# Installs missing npm packages, and Node.js if it is missing. Prints nothing if there is nothing to do.
#   --programs   without packages that only tests and lint need, which are most of them
set -euo pipefail
cd "$(dirname "$0")/.."
hack/install-node.sh
source hack/node.sh
scope=${1:-}
case "$scope" in '' | --programs) ;; *) echo "hack/install-npm.sh: no option $scope" >&2 && exit 2 ;; esac
# Compares the checksum of the lock file, because git does not preserve its age.
locked=$(sha256sum package-lock.json)
wanted=$locked
omit=()
if [ "$scope" = --programs ]; then
  wanted="$locked, programs"
  omit=(--omit=dev)
fi
installed=$(cat node_modules/.installed 2>/dev/null || true)
if [ "$installed" != "$locked" ] && [ "$installed" != "$wanted" ]; then
  echo "Installing npm packages"
  # Not `npm ci`, which fails if a registry lacks packages of other platforms.
  npm install --no-save --no-audit --no-fund --loglevel=error "${omit[@]}"
  echo "$wanted" >node_modules/.installed
fi
