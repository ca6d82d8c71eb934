#!/usr/bin/env bash
# Builds another implementation's cluster DNS from its published Go module into .tools/peers, for the end-to-end tests,
# with the plugins that clusters use. The build takes minutes, so no other script calls it. OUT=DIR sets the folder.
# Usage: build-coredns.sh [VERSION], 1.9.4 without one.
set -euo pipefail
cd "$(dirname "$0")/.."
module=github.com/coredns/coredns
version=${1:-1.9.4}
out=$(realpath -m "${OUT:-.tools/peers}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export GOFLAGS="${GOFLAGS:-} -mod=mod"
cd "$work"
# An omitted plugin imports this one, whose domain no longer exists.
mkdir gone
printf 'module inet.af/netaddr\n' >gone/go.mod
cat >go.mod <<MOD
module peers

go 1.18

require $module v$version

replace inet.af/netaddr => ./gone
MOD
# Directives without their plugin may stay in the list: they are unknown then.
cat >main.go <<GO
package main

import (
	"$module/coremain"
$(for plugin in cache errors forward health kubernetes loadbalance log loop metrics ready reload; do
  printf '\t_ "%s/plugin/%s"\n' "$module" "$plugin"
done)
)

func main() {
	coremain.Run()
}
GO
# Newer compilers refuse older versions of these, or the programs panic.
go get golang.org/x/sys@v0.30.0 golang.org/x/net@v0.35.0 github.com/modern-go/reflect2@v1.0.2
mkdir -p "$out"
go build -o "$out/coredns" -ldflags '-s -w -checklinkname=0' .
echo "PEER_DNS=$out/coredns"
