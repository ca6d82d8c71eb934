#!/usr/bin/env bash
# Prints the build's part of `/version` as JSON: commit, state of the tree, time. Without git it prints the commit that
# `git archive` wrote below, or none.
set -euo pipefail
cd "$(dirname "$0")/.."
commit='$Format:%H$'
state=archive
if [ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$(pwd -P)" ]; then
  commit=$(git rev-parse --verify --quiet HEAD || true)
  state=dirty
  [ -n "$(git status --porcelain 2>/dev/null)" ] || state=clean
fi
[[ $commit =~ ^[0-9a-f]{40,64}$ ]] || commit=
time=${SOURCE_DATE_EPOCH:-$(date +%s)}
printf '{"gitCommit":"%s","gitTreeState":"%s","buildDate":"%s"}\n' \
  "$commit" "$state" "$(date -u -d "@$time" +%Y-%m-%dT%H:%M:%SZ)"
