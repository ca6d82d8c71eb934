#!/usr/bin/env bash
# Builds kine, which answers etcd's API over a database, from its published Go module into .tools/etcds/kine, for the tests
# that TEST_ETCD selects (`make etcds`). Needs a C compiler for SQLite. Takes minutes, so no other script calls it.
# Usage: build-kine.sh [VERSION]; OUT=DIR sets the folder.
set -euo pipefail
cd "$(dirname "$0")/.."
module=github.com/k3s-io/kine
version=${1:-0.14.12}
out=$(realpath -m "${OUT:-.tools/etcds/kine}")
export GOFLAGS="${GOFLAGS:-} -mod=mod" CGO_ENABLED=1
# The table with sizes, which kine reads.
export CGO_CFLAGS="-DSQLITE_ENABLE_DBSTAT_VTAB=1 -DSQLITE_USE_ALLOCA=1"
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
. hack/release-module.sh
copy_module "$module@v$version" "$work/kine"
cd "$work/kine"
mkdir -p "$out"
go build -tags nats -o "$out/kine" -ldflags "-s -w -checklinkname=0 -X $module/pkg/version.Version=v$version" .
echo "TEST_ETCD=$out/kine"
