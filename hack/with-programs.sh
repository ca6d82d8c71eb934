#!/usr/bin/env bash
# Runs a command that sees other programs in the place of the machine's: NAME=PATH replaces NAME wherever the PATH has it, for
# the command and its children only. Needs root. With CGROUPS=1 they see only version 1 of cgroups on a machine that has both.
# Usage: with-programs.sh NAME=PATH… -- COMMAND…
set -euo pipefail
if [ "${1:-}" != --inside ]; then
  # Mounts of the command's containers must spread within its own tree of mounts.
  exec unshare --mount --propagation private "$0" --inside "$@"
fi
shift
mount --make-rshared /
# Programs outside would take the network namespaces of this tree, which are no mounts for them, for remains.
mkdir -p /run/netns
mount -t tmpfs tmpfs /run/netns
unified=/sys/fs/cgroup/unified
if [ "${CGROUPS:-}" = 1 ] && mountpoint -q $unified; then umount $unified; fi
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  name=${1%%=*} path=$(realpath "${1#*=}")
  shift
  for place in $(which -a "$name" | xargs -rn1 realpath | sort -u); do mount --bind "$path" "$place"; done
done
[ "${1:-}" = -- ] || { echo 'no command after --' >&2; exit 2; }
shift
exec "$@"
