#!/usr/bin/env bash
# Compiles into dist/; installs the npm packages first where they are missing.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -d node_modules ] || npm install --no-save --no-audit --no-fund --loglevel=error
node_modules/.bin/tsc -p tsconfig.json
