#!/usr/bin/env bash
# Installs the npm packages that are missing, and Node.js where it is. Quiet when nothing is.
set -euo pipefail
cd "$(dirname "$0")/.."
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
