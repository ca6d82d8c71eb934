#!/usr/bin/env bash
# Compiles changed files, checks the format of one file, and runs its test: the file itself, or the test beside it.
#   hack/check.sh pkg/scheduler/queue/queue.ts
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -ge 1 ] && [ -n "$1" ] || { echo 'name a file: make check FILE=pkg/scheduler/queue/queue.ts' >&2; exit 2; }
source hack/node.sh
tests=()
for file in "$@"; do
  file=${file#./}
  [ -f "$file" ] || { echo "no such file: $file" >&2; exit 2; }
  test=$file
  [[ $file == *.test.ts ]] || test=${file%.ts}.test.ts
  if [ -f "$test" ]; then tests+=("$test"); else echo "$file has no test beside it; its importers' tests are: $(git grep -l "${file##*/}" -- '*.test.ts' | tr '\n' ' ')" >&2; fi
done
hack/generate-types.sh
node_modules/.bin/tsc -p tsconfig.json
node_modules/.bin/biome check --error-on-warnings "$@"
for test in "${tests[@]}"; do
  echo "== $test"
  node --enable-source-maps "dist/${test%.ts}.js"
done
