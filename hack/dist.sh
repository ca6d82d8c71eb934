#!/usr/bin/env bash
# Packs the programs with the Node.js they run on into dist/orch-VERSION-linux-ARCH.tar.gz, and its sum beside it. Unpacked
# anywhere on Debian 12, bin/orch runs without npm and without a build. The same files give the same bytes.
# ARCHS="amd64 arm64" packs one for each; the default is this machine's. Beside it, orch-envtest-VERSION-linux-ARCH.tar.gz has only
# the programs for tests: its folder is a KUBEBUILDER_ASSETS.
set -euo pipefail
cd "$(dirname "$0")/.."
hack/build.sh --programs
source hack/node.sh
# FOLDER: packs a folder of $work into an archive of the same name. The same files give the same bytes.
pack() {
  chmod -R u=rwX,go=rX "$work/$1"
  tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C "$work" -cf - "$1" | gzip -9n >"dist/$1.tar.gz"
  (cd dist && sha256sum "$1.tar.gz" >"$1.tar.gz.sha256")
  ls -l "dist/$1.tar.gz" | awk '{ printf "%s: %.1f MB\n", $NF, $5 / 1e6 }'
}

version=$(node -p 'require("./package.json").version')
own=$(dpkg --print-architecture 2>/dev/null || uname -m)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for arch in ${ARCHS:-$own}; do
  # A library of Node.js that a small Debian lacks; bin/* name its folder to the linker.
  if [ "$arch" = "$own" ]; then
    node=$(readlink -f "$(command -v node)")
    atomic=$(ldd "$node" | sed -n 's/.*libatomic\.so\.1 => \([^ ]*\).*/\1/p')
  else
    folder=${FOREIGN:-.tools}/$arch
    hack/foreign-machine.sh "$arch" "$folder" --node
    node=$folder/node
    atomic=$folder/libatomic.so.1
  fi
  name=orch-$version-linux-$arch
  mkdir -p "$work/$name"/{.tools/bin,dist}
  cp -r bin examples README.md package.json charts docs "$work/$name"
  cp dist/build.json "$work/$name/dist"
  # Source maps are of use only with the sources.
  node dist/hack/bundle/main.js list | grep -v '\.map$' | xargs -r cp --parents -t "$work/$name"
  cp "$node" "$work/$name/.tools/bin/node"
  [ -z "$atomic" ] || install -D "$(readlink -f "$atomic")" "$work/$name/.tools/lib/libatomic.so.1"
  # The programs for tests, with what they need in a folder that stays out of sight.
  assets=orch-envtest-$version-linux-$arch
  mkdir -p "$work/$assets/.orch/dist"
  cp bin/envtest/* "$work/$assets"
  cp -r "$work/$name/.tools" package.json "$work/$assets/.orch"
  cp dist/build.json "$work/$assets/.orch/dist"
  node dist/hack/bundle/main.js list orch-envtest orchctl | grep -v '\.map$' |
    xargs -r cp --parents -t "$work/$assets/.orch"
  pack "$name"
  pack "$assets"
done
