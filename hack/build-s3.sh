#!/usr/bin/env bash
# Builds versitygw, a public server of S3's protocol, from its Go module into .tools/bin, for the tests of backups in buckets.
# Takes a minute, so no other script calls it.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p .tools/bin
GOBIN=$PWD/.tools/bin go install github.com/versity/versitygw/cmd/versitygw@v1.0.14
