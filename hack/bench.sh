#!/usr/bin/env bash
# Runs the benchmarks of test/bench, or those named; options after a name are that benchmark's own:
#   hack/bench.sh
#   hack/bench.sh codec queue
#   hack/bench.sh access --peer /path/kube-apiserver --markdown
set -euo pipefail
cd "$(dirname "$0")/.."
names=()
while [ $# -gt 0 ] && [[ $1 != -* ]]; do
  names+=("$1")
  shift
done
if [ $# -gt 0 ] && [ ${#names[@]} -ne 1 ]; then
  echo "options are of one benchmark: hack/bench.sh NAME OPTION…" >&2
  exit 2
fi
for name in "${names[@]}"; do
  [ -e "test/bench/$name.bench.ts" ] || { echo "no benchmark $name" >&2; exit 2; }
done
hack/build.sh
source hack/node.sh
for file in dist/test/bench/*.bench.js; do
  name=$(basename "$file" .bench.js)
  [ ${#names[@]} -eq 0 ] || [[ " ${names[*]} " == *" $name "* ]] || continue
  echo "== $name"
  node --expose-gc "$file" "$@"
done
