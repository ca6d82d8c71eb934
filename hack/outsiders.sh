#!/usr/bin/env bash
# Runs public test suites against this project in the `kubernetes` dialect, and prints a table of their results:
#   hack/outsiders.sh [apiextensions|kubectl|conformance]…   all three without arguments
#   hack/outsiders.sh envtest [NAME[@VERSION]…]              suites that start envtest's programs, see test/outsiders/envtest/suites.ts
#   hack/outsiders.sh bundles DIR [NAME…]
# The suites are fetched as published Go modules and built into .tools/outsiders, which takes minutes, for the conformance
# suite half an hour; without Go they are skipped. Bundles are the folders and files of manifests in DIR. With another
# implementation's API server in PEER_APISERVER, its answers are the expected ones (OBJECTS=1: its objects, too), and suites of
# envtest run with it and the machine's etcd, too. PAGE=docs/compatibility.md writes their results into that page's table.
# Exits with 1 after a failure. docs/compatibility.md explains the known ones.
set -euo pipefail
cd "$(dirname "$0")/.."
hack/build.sh
source hack/node.sh
if [ "${1:-}" = bundles ]; then
  exec node dist/test/outsiders/main.js "$@"
fi
suites=("$@")
[ ${#suites[@]} -gt 0 ] || suites=(apiextensions kubectl conformance)
if ! command -v go >/dev/null; then
  echo "Go is missing: ${suites[*]} skipped"
  exit 0
fi
[ "${suites[0]}" = envtest ] || hack/build-outsiders.sh "${suites[@]}"
exec node dist/test/outsiders/main.js "${suites[@]}"
