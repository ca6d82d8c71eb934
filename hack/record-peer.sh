#!/usr/bin/env bash
# Records the behaviour of another implementation's daemons, for the tests that compare ours (hack/build-peers.sh builds them).
# Usage: record-peer.sh controllers [SITUATION…] (PEER_CONTROLLER_MANAGER names its program; beginnings of names)
# Usage: record-peer.sh apiserver [FILE…] (PEER_APISERVER names its program)
# Usage: record-peer.sh client [TABLE…] (PEER_CLIENT names its program)
set -euo pipefail
cd "$(dirname "$0")/.."
what=${1:-}
case $what in
controllers) main=dist/test/integration/controllers/peer/record/controllers.js ;;
apiserver) main=dist/test/integration/apiserver/peer/record/apiserver.js ;;
client) main=dist/test/integration/client/kubectl/record.js ;;
*)
  sed -n 's/^# //p' "$0" >&2
  exit 2
  ;;
esac
hack/build.sh
source hack/node.sh
exec node "$main" "${@:2}"
