#!/usr/bin/env bash
# Format, lint, types, layers and cycles. `--fix` repairs what can be repaired.
set -euo pipefail
cd "$(dirname "$0")/.."
source hack/node.sh
export NPM_CONFIG_UPDATE_NOTIFIER=false
if [ "${1:-}" = --fix ]; then
  node_modules/.bin/biome check --write .
else
  node_modules/.bin/biome check --error-on-warnings .
fi
node_modules/.bin/tsc -p tsconfig.json
# What the compiled code does not show: imports of types, and folders that import each other.
node dist/hack/lint/main.js pkg/{apimachinery,apiserver,client,controllers,daemon,nodeagent,scheduler,storage} cmd/{orch,orchctl}
