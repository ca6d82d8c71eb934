#!/usr/bin/env bash
# Builds the daemons' images without a container engine: dist/images.tar, an OCI archive for `ctr images import`,
# `orchctl image load`, or a registry's own tools. FILE=… sets another path; ARCHS="amd64 arm64" makes each image one for several
# architectures, of which the default is this machine's.
set -euo pipefail
cd "$(dirname "$0")/.."
hack/install.sh
hack/build.sh --programs
source hack/node.sh
own=$(dpkg --print-architecture 2>/dev/null || uname -m)
machines=()
for arch in ${ARCHS:-$own}; do
  if [ "$arch" = "$own" ]; then machines+=("--own"); continue; fi
  folder=${FOREIGN:-.tools}/$arch
  hack/foreign-machine.sh "$arch" "$folder"
  machines+=("--machine=$arch=$folder")
done
node dist/hack/images/main.js "${FILE:-dist/images.tar}" "${machines[@]}"
