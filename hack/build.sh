#!/usr/bin/env bash
# Compiles into dist/. Installs npm packages first if they are missing or outdated.
#   --programs   only the programs, without tests, in half the time
set -euo pipefail
cd "$(dirname "$0")/.."
scope=${1:-}
case "$scope" in '' | --programs) ;; *) echo "hack/build.sh: no option $scope" >&2 && exit 2 ;; esac
hack/install-npm.sh ${scope:+"$scope"}
source hack/node.sh
hack/generate-types.sh
project=tsconfig.json
if [ "$scope" = --programs ]; then project=hack/tsconfig.programs.json; fi
node_modules/.bin/tsc -p "$project"
hack/build-info.sh >dist/build.json

# Programs start in half the time and with less memory from a few files than from hundreds; bin/* run these bundles. Each
# program is bundled by itself, because a shared chunk would contain everything that any program needs. Bundles have no
# comments and no indentation, because every thread keeps the text of its program in memory, at twice the size if one
# character is outside of ASCII. Licenses are in files of their own. Names stay, for stack traces.
node dist/hack/bundle/main.js begin
meta=$(mktemp -d)
trap 'rm -rf "$meta"' EXIT
bundle() {
  node_modules/.bin/esbuild "$@" \
    --bundle --splitting --platform=node --format=esm --target=node22 --sourcemap=linked --log-level=warning \
    --minify-whitespace --line-limit=200 --legal-comments=external \
    --metafile="$meta/$(basename "$(dirname "$1")").json" \
    --outbase=dist/cmd --outdir=dist/bundle --chunk-names='chunks/[name]-[hash]' \
    --banner:js='import { createRequire as requireFrom } from "node:module"; const require = requireFrom(import.meta.url); const __dirname = import.meta.dirname;'
}
for program in orch orchctl orch-apiserver orch-controller-manager orch-scheduler orch-proxy orch-ingress nodeagent orch-envtest; do
  bundle "dist/cmd/$program/main.js"
done
pages=$(hack/bundle-dashboard.sh)
mapfile -t pages <<<"$pages"
if find dist/bundle -name '*.js' -not -path 'dist/bundle/dashboard/*' -newer dist/build.json -print0 | LC_ALL=C xargs -0r grep -l $'[\x80-\xff]'; then
  echo "characters outside of ASCII: write those of regular expressions as escapes" >&2
  exit 1
fi
# The etcd client reads the descriptions of its messages beside the folder of its code.
cp -r node_modules/etcd3/proto dist/bundle/
# The thread that parses YAML is a separate program beside the file that starts it: a shared chunk, or the API server's own.
yaml_workers=(dist/bundle/chunks/yaml-worker.js dist/bundle/orch-apiserver/yaml-worker.js)
for file in "${yaml_workers[@]}"; do
  node_modules/.bin/esbuild dist/pkg/apiserver/bodies/yaml-worker.js \
    --bundle --platform=node --format=esm --target=node22 --log-level=warning --outfile="$file" \
    --banner:js='import { createRequire as requireFrom } from "node:module"; const require = requireFrom(import.meta.url);'
done
# What the compiler kept of older programs is of no use any more.
rm -rf dist/compile-cache
help_texts=()
for program in etcd kube-apiserver; do
  help_texts+=("dist/bundle/orch-envtest/$program.help")
  node dist/bundle/orch-envtest/main.js "$program" --help >"${help_texts[-1]}"
done
if [ "$scope" != --programs ]; then
  # Hundreds of test files load tap, in half the time from one file. Its folder keeps it out of the stacks of failures.
  tap=dist/node_modules/tap
  node_modules/.bin/esbuild tap \
    --bundle --platform=node --format=esm --target=node22 --log-level=warning --outfile=$tap/node_modules/@tapjs/tap.js \
    --alias:async-hook-domain=./dist/hack/test/latest-domain.js \
    --banner:js='import { createRequire as requireFrom } from "node:module"; const require = requireFrom(import.meta.url);'
  echo '{ "type": "module", "main": "node_modules/@tapjs/tap.js" }' >$tap/package.json
fi
find dist/bundle/proto -type f -print0 |
  xargs -0 node dist/hack/bundle/main.js end "$meta"/*.json -- "${yaml_workers[@]}" "${pages[@]}" "${help_texts[@]}"
