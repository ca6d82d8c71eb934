#!/usr/bin/env bash
# Builds helm from its published Go module into .tools/bin, for the test of the chart. Takes minutes, so no other script calls it.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p .tools/bin
GOBIN=$PWD/.tools/bin go install helm.sh/helm/v3/cmd/helm@v3.16.4
