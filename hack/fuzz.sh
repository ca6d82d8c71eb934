#!/usr/bin/env bash
# Fuzzes the decoders: `[--seconds N] [--seed N] [json|protobuf …]`; ten minutes each unless told otherwise.
set -euo pipefail
cd "$(dirname "$0")/.."
hack/build.sh
exec node dist/test/fuzz/main.js "$@"
