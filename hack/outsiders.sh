#!/usr/bin/env bash
# Runs public test suites against this project in the `kubernetes` dialect, and prints a table of their results:
#   hack/outsiders.sh [apiextensions|controller-runtime|kubectl|conformance]…   all four without arguments
#   hack/outsiders.sh bundles DIR [NAME…]
# The suites are fetched as published Go modules and built into .tools/outsiders, which takes minutes, for the conformance
# suite half an hour; without Go they are skipped. Bundles are the folders and files of manifests in DIR. With another
# implementation's API server in PEER_APISERVER, its answers are the expected ones (OBJECTS=1: its objects, too).
# Exits with 1 after a failure. docs/compatibility.md explains the known ones.
set -euo pipefail
cd "$(dirname "$0")/.."
hack/build.sh
source hack/node.sh
if [ "${1:-}" = bundles ]; then
  exec node dist/test/outsiders/main.js "$@"
fi
suites=("$@")
[ ${#suites[@]} -gt 0 ] || suites=(apiextensions controller-runtime kubectl conformance)
if ! command -v go >/dev/null; then
  echo "Go is missing: ${suites[*]} skipped"
  exit 0
fi
hack/build-outsiders.sh "${suites[@]}"
exec node dist/test/outsiders/main.js "${suites[@]}"
