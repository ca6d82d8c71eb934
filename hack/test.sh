#!/usr/bin/env bash
# Installs what is missing, builds, lints and runs the tests; the last line is `N passed, N failed`, and what was skipped.
# Arguments: test files or folders below dist/ (default: everything).
set -euo pipefail
cd "$(dirname "$0")/.."
hack/install-node.sh
source hack/node.sh
# One after the other: both may ask the system's package manager, of which one runs at a time.
{ hack/install-packages.sh --optional strace && hack/install-clients.sh; } &
packages=$!
hack/build.sh
wait $packages
exec node dist/hack/test/main.js --lint "$@"
