#!/usr/bin/env bash
# `make up`: from a fresh machine to a running example, in one command.
set -euo pipefail
cd "$(dirname "$0")/.."
timed() {
  local started=$SECONDS
  local name=$1
  shift
  "$@"
  printf '  \342\234\223 %s %ss\n' "$name" $((SECONDS - started))
}
timed 'packages installed' hack/install.sh --optional
timed 'programs built' hack/build.sh
exec bin/orch up --detach --example="${EXAMPLE:-web}" "$@"
