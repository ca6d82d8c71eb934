#!/usr/bin/env bash
# Runs tests on every version of what this project works with, and writes the table of docs/compatibility.md from what
# happened. Versions that are not on this machine keep their lines. Parts: etcd, kine, containerd, crun, node, kubectl;
# without one, all. hack/build-etcds.sh, hack/build-kine.sh and hack/build-containerds.sh build the versions, and this script fetches
# those of Node.js. Usage: compatibility.sh [PART…]
set -euo pipefail
cd "$(dirname "$0")/.."
parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(etcd kine containerd crun node kubectl)
source hack/node.sh
page=${PAGE:-docs/compatibility.md}
logs=${LOGS:-.tools/compatibility}
mkdir -p "$logs"
export TAP_TIMEOUT=600

store=(pkg/storage/etcd/etcd-store pkg/storage/etcd/interruptions pkg/storage/etcd/leader-lock pkg/storage/etcd/quota
  pkg/storage/cache/outage pkg/etcd-admin/etcd-admin test/integration/apiserver/etcd test/integration/apiserver/several-stores)
api=(test/integration/apiserver/etcd test/integration/apiserver/encryption test/integration/daemons/leader-fence
  test/integration/controllers/sets $(ls test/integration/apiserver/spec/*.test.ts | sed 's/\.test\.ts$//'))
agent=(pkg/containerd/containerd pkg/nodeagent/cri/grpc/client pkg/nodeagent/pod-scenarios.containerd
  pkg/nodeagent/nodeagent.containerd pkg/nodeagent/faulty-runtime.containerd pkg/nodeagent/hostile-processes.containerd
  pkg/nodeagent/hostile.containerd pkg/nodeagent/images/pulls.containerd pkg/cluster/supervise/runtime)
units=(pkg/storage pkg/http pkg/daemon)

# Replaces the line of a part and a version in the page's table.
write_line() { # PART VERSION RAN RESULT
  awk -v part="$1" -v version="$2" -v line="| $1 | $2 | $3 | $4 |" '
    /^<!-- versions: begin -->$/ { inside = 1 }
    /^<!-- versions: end -->$/ { if (!written) print line; inside = 0 }
    inside && index($0, "| " part " | " version " | ") == 1 { print line; written = 1; next }
    inside && !written && /^\| / && !/^\| (Part|---)/ && $0 > line { print line; written = 1 }
    { print }' "$page" >"$page.new"
  mv "$page.new" "$page"
  echo "$1 $2: $4"
}

# Runs tests one after the other and writes their line. WITH are words before `node`, such as `env TEST_ETCD=PATH`.
try() { # PART VERSION RAN WITH… tests: TEST…
  local part=$1 version=$2 ran=$3 with=() log passed=0 failed=0 test
  shift 3
  while [ "$1" != tests: ]; do with+=("$1") && shift; done
  shift
  log=$logs/$(tr ' /' '__' <<<"$part-$version").log
  : >"$log"
  for test in "$@"; do
    echo "=== $test" >>"$log"
    "${with[@]}" timeout 900 node --enable-source-maps "dist/$test.test.js" >"$log.one" 2>&1 || echo "exit $?" >>"$log.one"
    cat "$log.one" >>"$log"
    passed=$((passed + $(sed -n 's/^# {.*pass: \([0-9]*\).*/\1/p' "$log.one" | tail -1 | grep . || echo 0)))
    # A test that ended without its summary failed.
    failed=$((failed + $(if grep -q '^# {' "$log.one"; then sed -n 's/^# {.*fail: \([0-9]*\).*/\1/p' "$log.one" | tail -1 | grep . || echo 0; else echo 1; fi)))
  done
  rm -f "$log.one"
  write_line "$part" "$version" "$ran" "$passed passed, $failed failed"
}

version_of() { grep -oE '[0-9]+\.[0-9]+(\.[0-9]+)?' | head -1; }

test_etcd() {
  local program folder version
  for program in $(command -v etcd || true) .tools/etcds/3.*/etcd; do
    [ -x "$program" ] || continue
    folder=$(dirname "$(realpath "$program")")
    version=$("$program" --version | version_of)
    try etcd "$version" 'store and members' env "TEST_ETCD=$folder/etcd" tests: "${store[@]}"
    # Its tools are beside it.
    try etcd "$version with its tools" 'backup and restore' env "PATH=$folder:$PATH" tests: test/e2e/backup
  done
}

test_kine() {
  local kine=.tools/etcds/kine/kine database version
  [ -x "$kine" ] || { echo 'no kine: hack/build-kine.sh builds it'; return; }
  version=$("$kine" --version | version_of)
  try kine "$version" "the store's contract over each database" env tests: pkg/storage/etcd/kine
  for database in sqlite postgresql mysql; do
    try kine "$version over $database" 'checks of the API' env "TEST_KINE_DATABASE=$database" tests: "${api[@]}"
  done
}

test_containerd() {
  local folder runc
  runc="with runc $(runc --version | version_of)"
  try containerd "$(containerd --version | cut -d' ' -f3- | version_of) $runc" 'node agent' env tests: "${agent[@]}"
  for folder in .tools/containerds/*/; do
    [ -x "$folder/containerd" ] || continue
    try containerd "$("$folder/containerd" --version | grep -oE ' v[0-9][0-9.]*' | version_of) $runc" 'node agent' \
      hack/with-programs.sh "containerd=$folder/containerd" \
      "containerd-shim-runc-v2=$folder/containerd-shim-runc-v2" "ctr=$folder/ctr" -- tests: "${agent[@]}"
  done
}

test_crun() {
  if ! command -v crun >/dev/null; then
    echo 'no crun on this machine'
  else
    # It refuses machines with both versions of cgroups.
    try crun "$(crun --version | version_of)" 'node agent' env CGROUPS=1 hack/with-programs.sh "runc=$(command -v crun)" -- tests: \
      "${agent[@]}"
  fi
}

test_node() {
  local major folder files version
  [ -n "$node_package" ] || { echo 'no Node.js of npm for this machine'; return; }
  mapfile -t files < <(find "${units[@]}" -name '*.test.ts' ! -name '*.containerd.test.ts' | sort | sed 's/\.test\.ts$//')
  for major in 22 24 26; do
    folder=.tools/nodes/$major
    [ -x "$folder/node_modules/$node_package/bin/node" ] ||
      npm install --prefix "$folder" --no-save --no-audit --no-fund --ignore-scripts --loglevel=error "$node_package@$major"
    version=$("$folder/node_modules/$node_package/bin/node" --version | version_of)
    try Node.js "$version" 'unit tests' env "PATH=$PWD/$folder/node_modules/$node_package/bin:$PATH" tests: "${files[@]}"
    # bin/orch takes the project's own Node.js.
    try Node.js "$version with a cluster" 'life of pods' \
      hack/with-programs.sh "node=$folder/node_modules/$node_package/bin/node" -- tests: test/e2e/lifecycle
  done
}

test_kubectl() {
  local versions
  versions=$(for each in "$(dirname "$(realpath "$(command -v kubectl)")")"/kubectl*; do
    "$each" version --client -o json 2>/dev/null | grep -oE '"gitVersion": "v[^"]*"' | version_of
  done | sort -uV | paste -sd' ')
  try kubectl "$versions" 'its commands' env tests: test/integration/apiserver/kubectl
}

for part in "${parts[@]}"; do "test_$part"; done
