#!/bin/sh
# Process 1 of a container that is a node: gives it cgroups of its own, starts the node with the options that it is given,
# passes on what ends it, and buries the processes that others leave behind.
set -eu

# What starts here sees the container's own cgroups as the root of all, and mounts of pods reach the containers that ask
# for them; nothing of either reaches the machine.
if [ "${1:-}" != --inside ]; then
  # By its path: the shell has a program of that name in it that knows no cgroups.
  exec /usr/bin/unshare --cgroup --mount --propagation shared -- "$0" --inside "$@"
fi
shift

cgroups=/sys/fs/cgroup
if [ -e $cgroups/cgroup.controllers ]; then
  /usr/bin/mount -t cgroup2 cgroup2 $cgroups
  # A cgroup with processes of its own cannot hand controllers down.
  mkdir -p $cgroups/agent
  for pid in $(cat $cgroups/cgroup.procs); do
    echo "$pid" >$cgroups/agent/cgroup.procs 2>/dev/null || true
  done
else
  /usr/bin/mount -t tmpfs -o mode=755,nosuid,nodev,noexec tmpfs $cgroups
  # Lines such as 4:cpu,cpuacct:/PATH, 1:name=systemd:/PATH, and 0::/PATH for version 2 beside them.
  while IFS=: read -r number controllers path; do
    if [ "$number" = 0 ]; then
      mkdir $cgroups/unified
      /usr/bin/mount -t cgroup2 cgroup2 $cgroups/unified
      continue
    fi
    name=${controllers#name=}
    options=$controllers
    [ "$name" = "$controllers" ] || options=none,$controllers
    mkdir "$cgroups/$name"
    /usr/bin/mount -t cgroup -o "$options" cgroup "$cgroups/$name"
    for one in $(echo "$name" | tr , ' '); do
      [ -e "$cgroups/$one" ] || ln -s "$name" "$cgroups/$one"
    done
  done </proc/self/cgroup
fi

/usr/bin/node /opt/orch/dist/bundle/orch/main.js join "$@" &
node=$!
trap 'kill -TERM $node 2>/dev/null || true' TERM INT
code=0
# A signal ends the waiting, not the node.
while kill -0 $node 2>/dev/null; do
  code=0
  wait $node || code=$?
done
exit $code
