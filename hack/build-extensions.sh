#!/usr/bin/env bash
# Builds extension API servers of others from their published Go modules into .tools/extensions, for
# test/e2e/public-extensions.test.ts: the sample API server of release 1.24 and the metrics server of its time.
# Takes minutes, so nothing calls it. Usage: build-extensions.sh [NAME…]; OUT=DIR puts them elsewhere.
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
    # Where this one is older, newer compilers make programs of it that panic.
    go mod edit -replace github.com/modern-go/reflect2=github.com/modern-go/reflect2@v1.0.2
    # Old libraries reach into the runtime in ways that newer linkers refuse unless told otherwise.
    go build -mod=mod -o "$out/$name" -ldflags '-s -w -checklinkname=0' "${commands[$name]}"
  )
done
echo "EXTENSIONS=$out"
