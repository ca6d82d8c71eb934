#!/usr/bin/env bash
# Derives the TypeScript types of the API, and the list of its resources, from the schema declarations, and the
# descriptions of gRPC protocols from their .proto files, into *.gen.ts beside them. Every build generates these files; they
# are not committed.
set -euo pipefail
cd "$(dirname "$0")/.."
source hack/node.sh
node_modules/.bin/tsc -p hack/generate/tsconfig.json
node dist/hack/generate/main.js
