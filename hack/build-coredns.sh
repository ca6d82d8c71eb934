#!/usr/bin/env bash
# Builds another implementation's cluster DNS from its published Go module into .tools/peers, for the end-to-end tests,
# with the plugins that clusters use. Takes minutes, so nothing calls it. OUT=DIR puts it elsewhere.
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
# A plugin that is left out needs this one, whose domain has gone.
mkdir gone
printf 'module inet.af/netaddr\n' >gone/go.mod
cat >go.mod <<MOD
module peers

go 1.18

require $module v$version

replace inet.af/netaddr => ./gone
MOD
# Others are not cut out of the list of directives: without their plugins they are unknown.
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
# Older versions of these reach into the runtime in ways that newer compilers refuse, or make programs that panic.
go get golang.org/x/sys@v0.30.0 golang.org/x/net@v0.35.0 github.com/modern-go/reflect2@v1.0.2
mkdir -p "$out"
go build -o "$out/coredns" -ldflags '-s -w -checklinkname=0' .
echo "PEER_DNS=$out/coredns"
