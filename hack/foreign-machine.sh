#!/usr/bin/env bash
# Brings what a machine of another architecture has, without installing it: Node.js from npm into FOLDER/node with its library
# FOLDER/libatomic.so.1, and Debian packages, unpacked, into FOLDER/root (not with --node). Prints nothing if it is there.
# Usage: hack/foreign-machine.sh ARCH [FOLDER [--node]]; ARCH as Debian says it, FOLDER by default .tools/ARCH.
set -euo pipefail
cd "$(dirname "$0")/.."
arch=$1
folder=$(realpath -m "${2:-.tools/$arch}")
node_version=$(sed -n 's/^node_version=//p' hack/install-node.sh)
# What the images contain (hack/images); Debian keeps the program of static busybox apart.
packages=(etcd-server etcd-client nftables conntrack containerd runc iproute2 containernetworking-plugins iptables)
packages+=(busybox-static mount util-linux coreutils libstdc++6 libatomic1)
mkdir -p "$folder"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Downloads packages and what they need, and unpacks them into a folder.
unpack() {
  local root=$1 apt=$work/apt
  shift
  command -v apt-get >/dev/null || { echo "files for $arch come from Debian's packages, which need apt-get" >&2; exit 1; }
  rm -rf "$apt"
  mkdir -p "$apt"/{lists/partial,cache/archives/partial} "$root"
  : >"$apt/status"
  cat >"$apt/apt.conf" <<CONF
Dir::State "$apt";
Dir::State::status "$apt/status";
Dir::Cache "$apt/cache";
APT::Architecture "$arch";
APT::Architectures { "$arch"; };
APT::Sandbox::User "root";
CONF
  export APT_CONFIG=$apt/apt.conf
  apt-get update -qq
  apt-get install -qq -y --download-only --no-install-recommends "$@" >/dev/null
  for package in "$apt"/cache/archives/*.deb; do dpkg-deb -x "$package" "$root"; done
}

if [ "$(cat "$folder/node-version" 2>/dev/null)" != "$node_version" ]; then
  echo "Downloading Node.js $node_version for $arch"
  (cd "$work" && npm pack --silent "node-linux-$arch@$node_version" >/dev/null && tar xzf ./*.tgz package/bin/node)
  mv "$work/package/bin/node" "$folder/node"
  unpack "$work/library" libatomic1
  cp "$(find "$work/library" -name 'libatomic.so.1' | head -1)" "$folder/libatomic.so.1"
  echo "$node_version" >"$folder/node-version"
fi

[ ! -e "$folder/root.ready" ] || exit 0
[ "${3:-}" != --node ] || exit 0
echo "Downloading Debian's packages for $arch"
rm -rf "$folder/root"
unpack "$folder/root" "${packages[@]}"
touch "$folder/root.ready"
