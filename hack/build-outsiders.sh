#!/usr/bin/env bash
# Builds public test suites from their published Go modules into .tools/outsiders, for hack/outsiders.sh. It does not build
# existing ones again. Usage: build-outsiders.sh SUITE…; OUT=DIR sets the folder.
set -euo pipefail
cd "$(dirname "$0")/.."
source hack/release-module.sh
own=$PWD
version=24.17
out=$(realpath -m "${OUT:-.tools/outsiders}")
export GOFLAGS=-mod=mod
mkdir -p "$out"

# A module that requires the modules of release 1.24.
release_module() {
  [ ! -e "$out/release/go.sum" ] || return 0
  rm -rf "$out/release"
  mkdir -p "$out/release/conformance"
  cp "$own/test/outsiders/conformance/suite.go" "$out/release/conformance/suite_test.go"
  (
    cd "$out/release"
    release_go_mod outsiders $version >go.mod
    cat >programs.go <<'GO'
//go:build programs

package outsiders

import (
	_ "github.com/onsi/ginkgo/ginkgo"
	_ "k8s.io/kubernetes/cmd/kubectl"
	_ "k8s.io/kubernetes/cmd/kubectl-convert"
	_ "k8s.io/kubernetes/test/images/agnhost"
	_ "k8s.io/kubernetes/test/images/nonewprivs"
	_ "k8s.io/sample-apiserver"
)
GO
    go mod tidy
  )
}

# PACKAGE…: builds missing programs of the release into bin/.
release_programs() {
  release_module
  mkdir -p "$out/bin"
  for package in "$@"; do
    [ -e "$out/bin/$(basename "$package")" ] ||
      (cd "$out/release" && go build -o "$out/bin/" -ldflags "$release_ldflags $(release_stamp $version)" "$package")
  done
}

# FOLDER REPLACED…: lets a copied module use the last patch of the release's modules, and build with newer compilers.
pin() {
  local folder=$1
  shift
  (
    cd "$folder"
    for part in "$@"; do go mod edit -replace "k8s.io/$part=k8s.io/$part@v0.$version"; done
    go mod edit -replace "$reflect2=$reflect2@$reflect2_version"
  )
}

build_kubectl() {
  release_programs k8s.io/kubernetes/cmd/kubectl k8s.io/kubernetes/cmd/kubectl-convert
  [ -e "$out/kubernetes/ready" ] && return
  copy_module "$release@v1.$version" "$out/kubernetes"
  # Go modules do not keep file modes.
  find "$out/kubernetes/test/fixtures/pkg/kubectl/plugins" -type f -exec chmod +x {} +
  # The files that it would download are beside it.
  sed -i 's,https://raw.githubusercontent.com/kubernetes/kubernetes/master/,,' "$out/kubernetes/test/cmd/generic-resources.sh"
  touch "$out/kubernetes/ready"
}

# Replaces their in-process server by a process of another one.
build_apiextensions() {
  [ -e "$out/apiextensions/conversion.test" ] && return
  copy_module "k8s.io/apiextensions-apiserver@v0.$version" "$out/apiextensions"
  pin "$out/apiextensions"
  local fixtures=$out/apiextensions/test/integration/fixtures
  cp "$own/test/outsiders/apiextensions/external.go" "$fixtures/"
  sed -i 's/^func StartDefaultServer(/func startOwnServer(/' "$fixtures/server.go"
  (
    cd "$out/apiextensions"
    go test -vet=off -c -o integration.test -ldflags "$release_ldflags" ./test/integration
    go test -vet=off -c -o conversion.test -ldflags "$release_ldflags" ./test/integration/conversion
  )
}

# Debian packages for the suite's images, unpacked into debian/ and not installed.
debian_tools() {
  local tools=(bind9-dnsutils netcat-openbsd iperf) missing
  [ -e "$out/debian/usr/bin/dig" ] && return
  mkdir -p "$out/debian"
  missing=$(apt-get install --print-uris --no-install-recommends --reinstall -y "${tools[@]}" | sed -n "s/^'.* \([^_ ]*\)_.*/\1/p")
  (
    cd "$out/debian"
    # shellcheck disable=SC2086 # one word for each package
    apt-get download $missing
    for package in ./*.deb; do dpkg-deb -x "$package" .; done
    rm ./*.deb
  )
}

build_conformance() {
  build_kubectl
  release_programs github.com/onsi/ginkgo/ginkgo k8s.io/sample-apiserver k8s.io/kubernetes/test/images/{agnhost,nonewprivs}
  debian_tools
  [ -e "$out/bin/conformance.test" ] ||
    (cd "$out/release" && go test -vet=off -c -o "$out/bin/conformance.test" -ldflags "$release_ldflags" ./conformance)
}

for suite in "$@"; do "build_${suite//-/_}"; done
