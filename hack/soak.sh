#!/usr/bin/env bash
# Connects and disconnects clients of a cluster at random moments: `[--minutes N] [--seed N] [--separate] [--runtime NAME]`,
# by default ten minutes on the best runtime of the machine. Prints the resources of the daemons each minute. Exits with 1 if
# a daemon restarted or its resources grew. `--histories` instead writes a hundred thousand
# objects before watchers, then adds and removes nodes, pods and schedulers for ten minutes.
# `--chaos` kills and stops agent, runtime and API server under pods of every kind for half an hour. `--faults` does all of
# this in memory for ten minutes, with a runtime that gives wrong answers. `--workers` kills the API server's workers under
# 200 watchers and 20,000 writes. `--floods` floods an API server in every way, by one user, 200 users and anonymous clients, for
# ten minutes, and measures what others wait (`--minutes N`, `--only TEXT`). `--settle` runs 200 tests of one cluster without a
# sleep in 20 random orders (`SUITE_TESTS`, `SUITE_ORDERS`, `SUITE_SEED`) and prints the CPU time of each. `--members` lets the etcd of a chart grow to five
# members, loses a disk, and lets it shrink.
# `--dashboard` walks Chromium through the dashboard of 5,000 nodes and 50,000 pods while 100 objects change in a second, for an
# hour (`--minutes N`), and watches its memory.
set -euo pipefail
cd "$(dirname "$0")/.."
hack/build.sh
if [ "${1:-}" = --histories ]; then
  node dist/test/integration/apiserver/watch-history.test.js writes=100000
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
if [ "${1:-}" = --members ]; then
  MEMBERS=1,3,5,3,1 exec node dist/pkg/cluster/hosted/etcd/members.test.js
fi
if [ "${1:-}" = --settle ]; then
  SUITE_TESTS=${SUITE_TESTS:-200} SUITE_ORDERS=${SUITE_ORDERS:-20} exec node dist/test/e2e/settled-suite.test.js
fi
if [ "${1:-}" = --dashboard ]; then
  shift
  exec node --expose-gc dist/test/bench/dashboard/soak.js "$@"
fi
if [ "${1:-}" = --floods ]; then
  shift
  exec node --enable-source-maps dist/test/integration/apiserver/floods/soak.js "$@"
fi
exec node dist/test/e2e/leaving/main.js "$@"
