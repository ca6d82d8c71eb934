#!/usr/bin/env bash
# Boots Debian machines in qemu, installs the cluster in them and tries what only a whole machine shows: `[SUITE…] [--only NAME,…]
# [--keep]`, by default `bookworm trixie`, everything. Needs root, and the packages that it installs. Images stay in .tools/vm.
# Uses KVM where the processor has it; emulation takes about half an hour of two cores for each suite, on busy machines far
# longer. Each scenario writes its result into docs/compatibility.md. The last line is `N passed, N failed`. `--keep` leaves the
# logs of the machines.
set -euo pipefail
cd "$(dirname "$0")/.."
hack/install-packages.sh qemu-system-x86_64=qemu-system-x86 qemu-img=qemu-utils debootstrap mkfs.ext4=e2fsprogs
hack/install-npm.sh
suites=()
more=()
while [ $# -gt 0 ]; do
  case "$1" in
    --only) more+=("$1" "$2") && shift ;;
    --*) more+=("$1") ;;
    *) suites+=("$1") ;;
  esac
  shift
done
[ ${#suites[@]} -gt 0 ] || suites=(bookworm trixie)
hack/dist.sh
source hack/node.sh
digest=$(cat hack/vm-image.sh hack/vm-agent.sh | sha256sum | cut -c 1-12)
for suite in "${suites[@]}"; do
  image=.tools/vm/$suite-$digest
  if [ ! -e "$image/disk.raw" ]; then
    echo "Making the disk of $suite"
    hack/vm-image.sh "$suite" "$image"
  fi
done
exec node --enable-source-maps dist/test/vm/main.js --images .tools/vm --digest "$digest" "${more[@]}" "${suites[@]}"
