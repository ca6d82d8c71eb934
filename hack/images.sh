#!/usr/bin/env bash
# Builds the daemons' images without a container engine: dist/images.tar, an OCI archive for `ctr images import`,
# `orchctl image load`, or a registry's own tools. FILE=… sets another path.
set -euo pipefail
cd "$(dirname "$0")/.."
hack/install.sh
hack/build.sh
source hack/node.sh
node dist/hack/images/main.js "${FILE:-dist/images.tar}"
