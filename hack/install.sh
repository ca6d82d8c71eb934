#!/usr/bin/env bash
# Installs what is missing: Debian's packages of the runtime parts, and the npm packages. Quiet when nothing is.
set -euo pipefail
cd "$(dirname "$0")/.."
hack/install-packages.sh
hack/install-npm.sh
