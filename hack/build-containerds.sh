#!/usr/bin/env bash
# Builds containerd, its shim for runc and ctr from the published Go modules into .tools/containerds/MINOR, for the tests of
# the node agent (`make runtimes`). Takes minutes, so no other script calls it. Usage: build-containerds.sh [VERSION…];
# OUT=DIR sets the folder.
set -euo pipefail
cd "$(dirname "$0")/.."
versions=("$@")
[ ${#versions[@]} -gt 0 ] || versions=(1.7.35 2.2.9)
out=$(realpath -m "${OUT:-.tools/containerds}")
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
. hack/release-module.sh
for version in "${versions[@]}"; do
  module=github.com/containerd/containerd
  [ "${version%%.*}" = 1 ] || module=$module/v${version%%.*}
  folder=$out/${version%.*}
  mkdir -p "$folder"
  copy_module "$module@v$version" "$work/$version"
  (
    cd "$work/$version"
    # The module does not contain parts that are published as separate modules.
    sed -n 's/^\s*\(\S*\) => \.\/.*/\1/p; s/^replace \(\S*\) => \.\/.*/\1/p' go.mod | while read -r part; do
      go mod edit -dropreplace "$part"
    done
    for program in containerd containerd-shim-runc-v2 ctr; do
      go build -mod=mod -tags no_btrfs -o "$folder/$program" \
        -ldflags "-s -w -checklinkname=0 -X $module/version.Version=v$version" "./cmd/$program"
    done
  )
  echo "$folder"
done
