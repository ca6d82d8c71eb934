#!/usr/bin/env bash
# Runs the benchmarks of test/bench, or those named.
set -euo pipefail
cd "$(dirname "$0")/.."
hack/build.sh
source hack/node.sh
for file in dist/test/bench/*.bench.js; do
  name=$(basename "$file" .bench.js)
  [ $# -eq 0 ] || [[ " $* " == *" $name "* ]] || continue
  echo "== $name"
  node --expose-gc "$file"
done
