#!/usr/bin/env bash
# Installs missing Debian packages of the runtime parts and missing npm packages. In a clone it also sets the hook that reads
# commit messages. Prints nothing if there is nothing to do.
set -euo pipefail
cd "$(dirname "$0")/.."
hack/install-packages.sh
hack/install-npm.sh
if [ -z "$(git config --get core.hooksPath 2>/dev/null)" ] && git rev-parse --git-dir >/dev/null 2>&1; then
  git config core.hooksPath hack/hooks
fi
