#!/usr/bin/env bash
# Clients come to a cluster and leave it at random moments: `[--minutes N] [--seed N] [--separate] [--runtime NAME]`; ten
# minutes on the best runtime of the machine unless told otherwise. Prints what the daemons hold each minute; ends with 1
# when one was restarted or holds more than before.
set -euo pipefail
cd "$(dirname "$0")/.."
hack/build.sh
exec node dist/test/e2e/leaving/main.js "$@"
