#!/usr/bin/env bash
# Checks format, types, layers, cycles and words. `--fix` repairs the format. Installs missing npm packages.
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
node_modules/.bin/tsc -p pkg/dashboard/client
# Checks that need all sources: layers, cycles, unused exports, state of modules, words.
node dist/hack/lint/main.js
