#!/usr/bin/env bash
# Derives files from the schema declarations and the option tables. `--check` fails if a committed file changes.
set -euo pipefail
cd "$(dirname "$0")/.."
source hack/node.sh
hack/generate-types.sh
# The option tables import the files that were just generated.
node_modules/.bin/tsc -p tsconfig.json
node dist/hack/reference/main.js
node dist/hack/observe/main.js
if [ "${1:-}" = --check ]; then
  git diff --exit-code --stat -- docs/reference docs/runbooks.md charts/orch/observe charts/orch/README.md
  untracked=$(git ls-files --others --exclude-standard -- docs/reference docs/runbooks.md charts/orch/observe charts/orch/README.md)
  [ -z "$untracked" ] || { echo "not committed: $untracked" >&2; exit 1; }
fi
