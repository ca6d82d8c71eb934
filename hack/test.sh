#!/usr/bin/env bash
# Installs missing packages, builds, lints and runs the tests. The last line is `N passed, N failed`, and the skipped ones.
# Arguments: test files or folders below dist/ (default: everything).
set -euo pipefail
cd "$(dirname "$0")/.."
hack/install-node.sh
source hack/node.sh
# One after the other, because both may use the system's package manager.
{ hack/install-packages.sh --optional strace chromium && hack/install-clients.sh; } &
packages=$!
hack/build.sh
wait $packages
exec node dist/hack/test/main.js --lint "$@"
