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
packages() {
  hack/install-packages.sh --optional
  hack/install-npm.sh --programs
}
timed 'packages installed' packages
timed 'programs built' hack/build.sh --programs
exec bin/orch up --detach --example="${EXAMPLE:-web}" "$@"
