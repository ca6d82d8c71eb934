#!/usr/bin/env bash
# Packs the programs for arm64 and starts them under qemu's emulation: a simulated cluster takes a Deployment, whose pods get ready.
# Needs Debian's qemu-user-static; skipped with a message without it. Minutes on a machine of another architecture.
set -euo pipefail
cd "$(dirname "$0")/.."
qemu=$(command -v qemu-aarch64-static || command -v qemu-aarch64 || true)
if [ "$(uname -m)" = aarch64 ]; then qemu=; elif [ -z "$qemu" ]; then
  echo "skipped: install qemu-user-static to run programs of arm64"
  exit 0
fi
hack/foreign-machine.sh arm64 .tools/arm64
FOREIGN=.tools ARCHS=arm64 hack/dist.sh
source hack/node.sh
work=$(mktemp -d)
pid=
stop() {
  [ -z "$pid" ] || { kill "$pid" 2>/dev/null && wait "$pid" || true; }
  rm -rf "$work"
}
trap stop EXIT
tar xzf dist/orch-[0-9]*-linux-arm64.tar.gz -C "$work" --strip-components=1
export LD_LIBRARY_PATH=
node=("$work/.tools/bin/node")
[ -z "$qemu" ] || node=("$qemu" -L "$PWD/.tools/arm64/root" -E "LD_LIBRARY_PATH=$work/.tools/lib" "$work/.tools/bin/node")
"${node[@]}" "$work/dist/bundle/orchctl/main.js" version --client
"${node[@]}" "$work/dist/bundle/orch/main.js" up --data-dir="$work/data" --runtime=simulated --store=memory --secure-port=0 \
  >"$work/log" 2>&1 &
pid=$!
# Asked by this machine's own client, which is fast.
ctl() { ORCHCONFIG=$work/data/client.config bin/orchctl "$@"; }
await() {
  for _ in $(seq 600); do
    kill -0 "$pid" 2>/dev/null || { echo "orch ended:"; tail -20 "$work/log"; exit 1; }
    if "$@" 2>/dev/null; then return; fi
    sleep 1
  done
  echo "no end of: $*"
  tail -20 "$work/log"
  exit 1
}
isReady() { ctl get nodes | grep -q ' Ready '; }
isAvailable() { [ "$(ctl get deployment web -o jsonpath='{.status.availableReplicas}')" = 2 ]; }
await isReady
ctl get nodes
cat >"$work/web.json" <<'JSON'
{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": 2,
 "selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}},
 "spec": {"containers": [{"name": "web", "image": "web"}]}}}}
JSON
ctl apply -f "$work/web.json"
await isAvailable
ctl get pods
echo "the programs of arm64 serve a cluster"
