#!/usr/bin/env bash
# Compiles into dist/; installs the npm packages first where they are missing.
set -euo pipefail
cd "$(dirname "$0")/.."
hack/install-node.sh
source hack/node.sh
[ -d node_modules ] || npm install --no-save --no-audit --no-fund --loglevel=error
hack/generate-types.sh
node_modules/.bin/tsc -p tsconfig.json
hack/build-info.sh >dist/build.json

# Programs start in half the time and with less memory out of a few files than out of hundreds. bin/* take these.
node_modules/.bin/esbuild dist/cmd/{orch,orchctl,orch-apiserver,orch-controller-manager,orch-scheduler,nodeagent}/main.js \
  dist/cmd/orch-apiserver/worker.js \
  --bundle --splitting --platform=node --format=esm --target=node20 --sourcemap=linked --log-level=warning \
  --outbase=dist/cmd --outdir=dist/bundle --chunk-names='chunks/[name]-[hash]' \
  --banner:js='import { createRequire as requireFrom } from "node:module"; const require = requireFrom(import.meta.url);'
# The thread that reads YAML is a program of its own, found beside the chunk that starts it.
node_modules/.bin/esbuild dist/pkg/apiserver/bodies/yaml-worker.js \
  --bundle --platform=node --format=esm --target=node20 --log-level=warning --outdir=dist/bundle/chunks \
  --banner:js='import { createRequire as requireFrom } from "node:module"; const require = requireFrom(import.meta.url);'
# Hundreds of test files load tap, in half the time out of one file. Its folder keeps it out of the stacks of failures.
tap=dist/node_modules/tap
node_modules/.bin/esbuild tap \
  --bundle --platform=node --format=esm --target=node20 --log-level=warning --outfile=$tap/node_modules/@tapjs/tap.js \
  --banner:js='import { createRequire as requireFrom } from "node:module"; const require = requireFrom(import.meta.url);'
echo '{ "type": "module", "main": "node_modules/@tapjs/tap.js" }' >$tap/package.json
# A program that runs may still load chunks of the build it started from.
find dist/bundle -type f -mtime +1 -delete
