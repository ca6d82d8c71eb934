#!/usr/bin/env bash
# Builds another implementation's API server, controller manager, scheduler, node agent, service proxy and client from their
# published Go module into .tools/peers, for tests and the benchmarks. Takes minutes, so no other script calls it.
# Usage: build-peers.sh [VERSION [DAEMON…]], VERSION without its leading "1.": 24.17, 20.2. OUT=DIR sets the folder.
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:-24.17}
names=("${@:2}")
[ ${#names[@]} -gt 0 ] || names=(kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy kubectl)
declare -A constructors=(
  [kube-apiserver]=NewAPIServerCommand
  [kube-controller-manager]=NewControllerManagerCommand
  [kube-scheduler]=NewSchedulerCommand
  [kubelet]=NewKubeletCommand
  [kube-proxy]=NewProxyCommand
)
source hack/release-module.sh
module=$release
out=$(realpath -m "${OUT:-.tools/peers}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export GOFLAGS=-mod=mod
cd "$work"

release_go_mod peers "$version" >go.mod

# Since 1.23 a library contains code that each daemon had before.
if [ "${version%%.*}" -ge 23 ]; then
  imports='"k8s.io/component-base/cli"'
  run='os.Exit(cli.Run(command))'
else
  imports='cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/logs"'
  run='command.SetGlobalNormalizationFunc(cliflag.WordSepNormalizeFunc)
	logs.InitLogs()
	if command.Execute() != nil {
		os.Exit(1)
	}'
fi
for name in "${names[@]}"; do
  mkdir "$name"
  if [ "$name" = kubectl ]; then
    cp "$(cd / && go mod download -json "$module@v1.$version" | sed -n 's/^\s*"Dir": "\(.*\)",$/\1/p')/cmd/kubectl/kubectl.go" kubectl/main.go
    continue
  fi
  cat >"$name/main.go" <<GO
package main

import (
	"os"

	$imports
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"$module/cmd/$name/app"
)

func main() {
	command := app.${constructors[$name]}()
	$run
}
GO
done
go mod tidy

# Older releases are published without a Go file that their own generator derives from all types.
generated=pkg/generated/openapi/zz_generated.openapi.go
published=$(go list -m -f '{{.Dir}}' "$module" 2>/dev/null) || published= # the client alone does not need the module
if [[ " ${names[*]} " == *" kube-apiserver "* && ! -e $published/$generated ]]; then
  cp -r "$published" kubernetes
  chmod -R u+w kubernetes
  go mod edit -replace "$module=./kubernetes"
  tagged() { # MODULE: its packages with types of the API
    (cd "$(go list -m -f '{{.Dir}}' "$1")" && grep -rlF +k8s:openapi-gen=true --include='*.go' .) |
      sed -e '/_test\.go$/d; /\/example/d' -e "s|^\.|$1|; s|/[^/]*$||" | sort -u
  }
  inputs=$(for each in "$module" k8s.io/{api,apimachinery,apiextensions-apiserver,apiserver,kube-aggregator}; do tagged "$each"; done)
  go build -o openapi-gen k8s.io/kube-openapi/cmd/openapi-gen
  touch header
  ./openapi-gen --go-header-file header --input-dirs "$(paste -sd, <<<"$inputs")" --output-base derived \
    --output-package "$module/${generated%/*}" --output-file-base zz_generated.openapi --report-filename report
  cp "derived/$module/$generated" "kubernetes/$generated"
fi
mkdir -p "$out"
go build -o "$out/" -ldflags "$release_ldflags $(release_stamp "$version")" ./...
echo "PEER_APISERVER=$out/kube-apiserver PEER_CONTROLLER_MANAGER=$out/kube-controller-manager PEER_SCHEDULER=$out/kube-scheduler PEER_NODE_AGENT=$out/kubelet PEER_PROXY=$out/kube-proxy PEER_CLIENT=$out/kubectl"
