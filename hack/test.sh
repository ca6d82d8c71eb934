#!/usr/bin/env bash
# Installs what is missing, builds, lints and runs the tests; the last line is `N passed, N failed`.
# Arguments: test files or folders below dist/ (default: everything).
set -euo pipefail
cd "$(dirname "$0")/.."
hack/install.sh --optional
source hack/node.sh
hack/install-clients.sh &
clients=$!
hack/build.sh
hack/lint.sh
wait $clients
node dist/hack/test/main.js "$@"
