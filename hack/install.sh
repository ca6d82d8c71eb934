#!/usr/bin/env bash
# Installs what is missing: Debian's packages of the runtime parts, and the npm packages; in a clone, the hook that reads
# commit messages. Quiet when nothing is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
hack/install-packages.sh
hack/install-npm.sh
if [ -z "$(git config --get core.hooksPath 2>/dev/null)" ] && git rev-parse --git-dir >/dev/null 2>&1; then
  git config core.hooksPath hack/hooks
fi
