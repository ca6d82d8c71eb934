#!/usr/bin/env bash
# Builds etcd with its tools etcdctl and etcdutl from the published Go modules into .tools/etcds/MINOR, for the tests that
# TEST_ETCD selects (`make etcds`). Takes minutes, so no other script calls it. Usage: build-etcds.sh [VERSION…]; OUT=DIR sets
# the folder.
set -euo pipefail
cd "$(dirname "$0")/.."
versions=("$@")
[ ${#versions[@]} -gt 0 ] || versions=(3.5.35 3.6.16)
out=$(realpath -m "${OUT:-.tools/etcds}")
module=go.etcd.io/etcd
export GOFLAGS="${GOFLAGS:-} -mod=mod"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for version in "${versions[@]}"; do
  folder=$out/${version%.*}
  mkdir -p "$folder" "$work/$version/server"
  cd "$work/$version"
  # The server's own main package is not in its module.
  cat >go.mod <<MOD
module etcds

go 1.22

require (
	$module/server/v3 v$version
	$module/etcdctl/v3 v$version
	$module/etcdutl/v3 v$version
)
MOD
  cat >server/main.go <<GO
package main

import (
	"os"

	"$module/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
GO
  flags='-s -w -checklinkname=0'
  go build -o "$folder/etcd" -ldflags "$flags" ./server
  for tool in etcdctl etcdutl; do go build -o "$folder/$tool" -ldflags "$flags" "$module/$tool/v3"; done
  echo "TEST_ETCD=$folder/etcd"
done
