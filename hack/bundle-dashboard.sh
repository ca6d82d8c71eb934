#!/usr/bin/env bash
# Bundles the dashboard's pages and their worker for browsers into dist/bundle/dashboard, and prints the files.
set -euo pipefail
cd "$(dirname "$0")/.."
source hack/node.sh
out=dist/bundle/dashboard
client=pkg/dashboard/client
rm -rf "$out"
mkdir -p "$out"
# Sources instead of compiled files: only the browser's own project compiles the pages. Certificates are read by the module in place
# of Node.js' own.
node_modules/.bin/esbuild "$client/main.tsx" "$client/worker.ts" \
  --bundle --splitting --minify --format=esm --platform=browser --target=es2023 --conditions=source \
  --jsx=automatic --jsx-import-source=preact --log-level=warning --legal-comments=none \
  --inject:./$client/platform/buffer.ts --alias:node:crypto=./$client/platform/no-crypto.ts \
  --entry-names='[name]' --chunk-names='[name]-[hash]' --outdir="$out"
node_modules/.bin/esbuild "$client/static/style.css" --bundle --minify --log-level=warning --outfile="$out/style.css"
cp "$client/static/index.html" "$client/static/icon.svg" "$out"
find "$out" -type f
