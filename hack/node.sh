# Sourced by the other scripts: puts the project's own Node.js, where hack/install-node.sh brought one, before others.
tools=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/.tools
[ ! -x "$tools/bin/node" ] || PATH=$tools/bin:$PATH
