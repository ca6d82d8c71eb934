#!/usr/bin/env bash
# Installs the npm packages that are missing, and Node.js where it is. Quiet when nothing is.
#   --programs   without those that only tests and lint need, which are most
set -euo pipefail
cd "$(dirname "$0")/.."
hack/install-node.sh
source hack/node.sh
scope=${1:-}
case "$scope" in '' | --programs) ;; *) echo "hack/install-npm.sh: no option $scope" >&2 && exit 2 ;; esac
# The lock file's sum rather than its age: git gives an older file a new age, and a newer one an old.
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
  # Not `npm ci`: it insists on packages of other platforms that a registry may not have.
  npm install --no-save --no-audit --no-fund --loglevel=error "${omit[@]}"
  echo "$wanted" >node_modules/.installed
fi
