#!/usr/bin/env bash
# Makes the disk of a Debian machine with the parts of a node, and its kernel: `SUITE FOLDER`. Writes FOLDER/disk.raw (ext4, no
# partitions), kernel, initrd and versions (a line `name version` for each part). Needs root, debootstrap and mkfs.ext4.
# MIRROR: address of the archive; default that of this machine's apt, else deb.debian.org.
set -euo pipefail
suite=$1
folder=$2
here=$(cd "$(dirname "$0")" && pwd)
mirror=${MIRROR:-$(sed -n 's/^URIs: *\(http[^ ]*\/debian\)\/\{0,1\}$/\1/p' /etc/apt/sources.list.d/*.sources 2>/dev/null | head -1)}
mirror=${mirror:-http://deb.debian.org/debian}
packages=(
  systemd systemd-sysv dbus udev kmod procps util-linux iproute2 linux-image-cloud-amd64 initramfs-tools
  containerd runc containernetworking-plugins iptables nftables conntrack ipset busybox-static etcd-server
)
mkdir -p "$folder"
work=$(mktemp -d "$folder/work.XXXXXX")
# Removes the tree only where nothing is mounted in it.
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root
log=$folder/debootstrap.log
include=$(IFS=,; echo "${packages[*]}")
mkdir -p "$folder/../packages"
debootstrap --cache-dir="$(realpath "$folder/../packages")" --variant=minbase --include="$include" "$suite" "$root" "$mirror" >"$log" 2>&1 || {
  tail -20 "$log" >&2
  exit 1
}

echo vm >"$root/etc/hostname"
printf '127.0.0.1 localhost\n10.0.2.15 vm\n' >"$root/etc/hosts"
echo '/dev/vda / ext4 defaults 0 1' >"$root/etc/fstab"
: >"$root/etc/machine-id"
mkdir -p "$root/etc/systemd/network" "$root/var/log/journal" "$root/usr/local/lib"
cat >"$root/etc/systemd/network/10-machine.network" <<'FILE'
[Match]
Name=eth0
[Network]
Address=10.0.2.15/24
Gateway=10.0.2.2
FILE
echo 'nameserver 10.0.2.3' >"$root/etc/resolv.conf"
install -m 755 "$here/vm-agent.sh" "$root/usr/local/lib/vm-agent"
cat >"$root/etc/systemd/system/vm-agent.service" <<'FILE'
[Unit]
Description=Runs the commands of a test
After=multi-user.target
[Service]
ExecStart=/usr/local/lib/vm-agent
Restart=always
RestartSec=1
OOMScoreAdjust=-1000
# Commands of a test may outlive it.
KillMode=process
TasksMax=infinity
[Install]
WantedBy=multi-user.target
FILE
# The packages' own services are not used unless a test starts them. A console without a login keeps the log readable.
chroot "$root" systemctl --quiet enable systemd-networkd vm-agent
chroot "$root" systemctl --quiet disable etcd containerd 2>/dev/null || true
chroot "$root" systemctl --quiet mask getty@tty1 serial-getty@ttyS0 apt-daily.timer apt-daily-upgrade.timer

kernel=$(ls "$root/boot" | sed -n 's/^vmlinuz-//p' | sort -V | tail -1)
cp "$root/boot/vmlinuz-$kernel" "$folder/kernel"
cp "$root/boot/initrd.img-$kernel" "$folder/initrd"
version_of() { chroot "$root" dpkg-query --show --showformat='${Version}' "$1"; }
{
  echo "Debian $(cat "$root/etc/debian_version")"
  echo "kernel $kernel"
  for package in systemd containerd runc etcd-server containernetworking-plugins nftables iptables; do
    echo "$package $(version_of "$package")"
  done
} >"$folder/versions"
rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
truncate -s 8G "$work/disk.raw"
mkfs.ext4 -q -F -d "$root" "$work/disk.raw"
mv "$work/disk.raw" "$folder/disk.raw"
