#!/usr/bin/env bash
# Clients come to a cluster and leave it at random moments: `[--minutes N] [--seed N] [--separate] [--runtime NAME]`; ten
# minutes on the best runtime of the machine unless told otherwise. Prints what the daemons hold each minute; ends with 1
# when one was restarted or holds more than before. `--histories` instead lets nodes, pods and schedulers come and go for
# ten minutes, `--chaos` kills and stops agent, runtime and API server under pods of every kind for half an hour, and
# `--faults` has all of that, and a runtime that lies, in memory for ten minutes. `--workers` ends the API server's workers under
# 200 watchers and 20,000 writes.
set -euo pipefail
cd "$(dirname "$0")/.."
hack/build.sh
if [ "${1:-}" = --histories ]; then
  HISTORY_SECONDS=600 exec node dist/test/integration/scheduler/histories.test.js
fi
if [ "${1:-}" = --chaos ]; then
  CHAOS_SECONDS=1800 exec node dist/test/e2e/chaos.test.js
fi
if [ "${1:-}" = --faults ]; then
  CHAOS_SECONDS=600 exec node dist/test/integration/nodeagent/chaos.test.js
fi
if [ "${1:-}" = --workers ]; then
  WORKERS_SOAK=1 exec node dist/test/integration/apiserver/workers.test.js
fi
exec node dist/test/e2e/leaving/main.js "$@"
