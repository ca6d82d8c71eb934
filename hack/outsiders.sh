#!/usr/bin/env bash
# Runs others' suites of tests against this project in the `kubernetes` dialect, and prints a table of what they came to:
#   hack/outsiders.sh [apiextensions|controller-runtime|kubectl|conformance]…   all four without arguments
#   hack/outsiders.sh bundles DIR [NAME…]
# The suites are fetched as published Go modules and built into .tools/outsiders, which takes minutes, for the conformance
# suite half an hour; where Go is missing they are skipped. Bundles are the folders and files of manifests in DIR; where
# PEER_APISERVER names another implementation's API server, it says what is right (OBJECTS=1: of the objects, too).
# Ends with 1 where something failed. docs/compatibility.md says why.
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
