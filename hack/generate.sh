#!/usr/bin/env bash
# Derives the generated files from the schema declarations and the option tables; `--check` fails when that changes
# anything.
set -euo pipefail
cd "$(dirname "$0")/.."
source hack/node.sh
node_modules/.bin/tsc -p hack/generate/tsconfig.json
node dist/hack/generate/main.js
# The option tables stand on what was just generated.
node_modules/.bin/tsc -p tsconfig.json
node dist/hack/reference/main.js
if [ "${1:-}" = --check ]; then
  git diff --exit-code --stat -- 'pkg/**/*.gen.ts' docs/reference
  untracked=$(git ls-files --others --exclude-standard -- 'pkg/**/*.gen.ts' docs/reference)
  [ -z "$untracked" ] || { echo "not committed: $untracked" >&2; exit 1; }
fi
