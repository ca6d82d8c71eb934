#!/usr/bin/env bash
# Fuzzes what test/fuzz/targets.ts lists: `[--seconds N] [--seed N] [TARGET …]`; ten minutes each by default.
set -euo pipefail
cd "$(dirname "$0")/.."
hack/build.sh
source hack/node.sh
exec node dist/test/fuzz/main.js "$@"
