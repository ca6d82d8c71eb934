#!/usr/bin/env bash
# Packs the programs for tests (hack/dist.sh), unpacks them into an empty folder and uses it as KUBEBUILDER_ASSETS, on a PATH without
# Node.js and kubectl: as a user does who has nothing of this project. Where there is Go, controller-runtime's envtest starts them
# too. --packed takes the archive that is in dist/.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "${1:-}" != --packed ]; then hack/dist.sh; fi
hack/build.sh
source hack/node.sh
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
# A name with a blank finds words that are not quoted.
mkdir "$work/empty folder" "$work/bin"
archive=$(ls -t dist/orch-envtest-*-linux-"$(dpkg --print-architecture 2>/dev/null || uname -m)".tar.gz | head -1)
(cd dist && sha256sum --check --quiet "${archive#dist/}.sha256")
tar xzf "$archive" -C "$work/empty folder"
assets=$(echo "$work/empty folder"/*)
# Its files need no right to write.
chmod -R a-w "$assets"
for program in /bin/* /usr/bin/*; do
  case ${program##*/} in node | nodejs | npm | npx | kubectl | etcd | orchctl) continue ;; esac
  ln -sf "$program" "$work/bin/${program##*/}"
done
node=$(command -v node)
echo "$assets:"
ls -A "$assets"
ORCH_ENVTEST_ASSETS=$assets PATH="$work/bin" "$node" --enable-source-maps dist/test/integration/testcluster/programs.test.js
if ! command -v go >/dev/null; then
  echo 'skipped: no Go for the test by envtest itself'
  exit 0
fi
cp test/pack/envtest_test.go "$work"
cd "$work"
export GOFLAGS=-mod=mod GOTOOLCHAIN=local KUBEBUILDER_ASSETS=$assets
go mod init example.com/pack 2>/dev/null
go get sigs.k8s.io/controller-runtime@"${CONTROLLER_RUNTIME:-latest}" >get.log 2>&1 || { cat get.log >&2; exit 1; }
go mod tidy >get.log 2>&1 || { cat get.log >&2; exit 1; }
go vet . && go test -count=1 -v .
