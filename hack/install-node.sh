#!/usr/bin/env bash
# Installs a pinned Node.js into .tools/ if the PATH has none, or one of an older major version. Prints nothing if there is
# nothing to do. If the pinned one cannot be installed, an older one that the programs support is enough.
set -euo pipefail
cd "$(dirname "$0")/.."
source hack/node.sh
node_version=26.12.1
npm_version=11.21.2

supported=$(sed -n 's/.*"node": ">=\([0-9.]*\)".*/\1/p' package.json)
is_at_least() {
  local found
  found=$(node --version 2>/dev/null) || return 1
  npm --version >/dev/null 2>&1 || return 1
  [ "$(printf '%s\n' "$1" "${found#v}" | sort -V | head -1)" = "$1" ]
}
is_at_least "${node_version%%.*}" && exit 0

needed() {
  if is_at_least "$supported"; then
    echo "Node.js $node_version cannot be had here; $(node --version) is used" >&2
    exit 0
  fi
  echo "Node.js $supported or newer is needed: https://nodejs.org" >&2
  exit 1
}
[ -n "$node_package" ] || needed
# Debian's own Node.js is too old for the project, but can install another one.
if ! npm --version >/dev/null 2>&1; then
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 || needed
  echo 'Installing nodejs and npm'
  export DEBIAN_FRONTEND=noninteractive
  apt-get install -y -q --no-install-recommends nodejs npm >/dev/null 2>&1 ||
    { apt-get update -q >/dev/null && apt-get install -y -q --no-install-recommends nodejs npm >/dev/null; }
fi
echo "Installing Node.js $node_version"
# Built beside its place and then moved, so that the next run repeats an interrupted one.
rm -rf .tools.new
mkdir -p .tools.new .tools/bin
npm install --prefix .tools.new --no-save --no-audit --no-fund --ignore-scripts --loglevel=error \
  "$node_package@$node_version" "npm@$npm_version" && [ -d .tools.new/node_modules ] || needed
rm -rf .tools/node_modules
mv .tools.new/node_modules .tools/
rm -rf .tools.new
for program in npm npx; do ln -sf "../node_modules/npm/bin/$program-cli.js" ".tools/bin/$program"; done
ln -sf "../node_modules/$node_package/bin/node" .tools/bin/node
source hack/node.sh
is_at_least "${node_version%%.*}" || needed
