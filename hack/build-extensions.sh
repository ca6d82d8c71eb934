#!/usr/bin/env bash
# Builds public extension API servers from their published Go modules into .tools/extensions, for
# test/e2e/public-extensions.test.ts: the sample API server of release 1.24 and the metrics server of its time.
# Takes minutes, so no other script calls it. Usage: build-extensions.sh [NAME…]; OUT=DIR sets the folder.
set -euo pipefail
cd "$(dirname "$0")/.."
names=("$@")
[ ${#names[@]} -gt 0 ] || names=(sample-apiserver metrics-server)
out=$(realpath -m "${OUT:-.tools/extensions}")
declare -A modules=(
  [sample-apiserver]=k8s.io/sample-apiserver@v0.24.17
  [metrics-server]=sigs.k8s.io/metrics-server@v0.6.1
)
declare -A commands=([sample-apiserver]=. [metrics-server]=./cmd/metrics-server)
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
mkdir -p "$out"

for name in "${names[@]}"; do
  published=$(cd "$work" && go mod download -json "${modules[$name]}" | sed -n 's/^\s*"Dir": "\(.*\)",$/\1/p')
  cp -r "$published" "$work/$name"
  chmod -R u+w "$work/$name"
  (
    cd "$work/$name"
    # An older version of this library panics when a newer compiler builds it.
    go mod edit -replace github.com/modern-go/reflect2=github.com/modern-go/reflect2@v1.0.2
    # Newer linkers refuse references of old libraries into the runtime without this flag.
    go build -mod=mod -o "$out/$name" -ldflags '-s -w -checklinkname=0' "${commands[$name]}"
  )
done
echo "EXTENSIONS=$out"
