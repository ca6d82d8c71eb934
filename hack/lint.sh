#!/usr/bin/env bash
# Format, lint, types, layers and cycles. `--fix` repairs what can be repaired. Installs the npm packages that are missing.
set -euo pipefail
cd "$(dirname "$0")/.."
hack/install-npm.sh
source hack/node.sh
export NPM_CONFIG_UPDATE_NOTIFIER=false
if [ "${1:-}" = --fix ]; then
  node_modules/.bin/biome check --write .
else
  node_modules/.bin/biome check --error-on-warnings .
fi
hack/generate-types.sh
node_modules/.bin/tsc -p tsconfig.json
# What the compiled code does not show: imports of types, folders that import each other, what nobody imports.
node dist/hack/lint/main.js
