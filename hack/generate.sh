#!/usr/bin/env bash
# Derives the generated files from the schema declarations; `--check` fails when that changes anything.
set -euo pipefail
cd "$(dirname "$0")/.."
npx --no-install tsc -p hack/generate/tsconfig.json
node dist/hack/generate/main.js
if [ "${1:-}" = --check ]; then
  git diff --exit-code --stat -- 'pkg/**/*.gen.ts'
fi
