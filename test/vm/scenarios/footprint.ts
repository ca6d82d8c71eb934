/** What a cluster leaves on a machine. */
import type { Machine } from '#test/vm/machine/machine.js';

/** Each prints lines that are the same before a cluster exists and after its end. */
const traces: Readonly<Record<string, string>> = {
  // What systemd and the test itself write there is none of the cluster's; nor are folders in memory that every containerd and
  // iptables share.
  files: `find /etc /home /opt /root /run /srv /usr /var -xdev \\( -path /run/systemd -o -path /run/udev -o -path /run/log \\
    -o -path /var/log/journal -o -path /var/lib/systemd -o -path /var/cache -o -path /run/utmp -o -path '/run/user*' \\
    -o -path /run/containerd -o -path /run/netns -o -path /run/xtables.lock \\) -prune -o -print`,
  mounts: 'cut -d" " -f2,3 /proc/mounts | grep -v "^/proc/sys/fs/binfmt_misc\\|^/run/user\\|^/run/credentials"',
  cgroups:
    'find /sys/fs/cgroup -type d -not -path "*/system.slice*" -not -path "*/user.slice*" -not -path "*/init.scope*"',
  units: 'systemctl list-unit-files --no-legend --no-pager | cut -d" " -f1',
  slices:
    'systemctl list-units --all --type=slice,scope,service --no-legend --plain --no-pager | grep -i "orch\\|kube\\|cri-\\|node_" || true',
  // iptables keeps its empty tables.
  nftables: 'nft list tables | grep -v "^table ip6* \\(nat\\|filter\\|mangle\\)$" || true',
  iptables: '(iptables-save; ip6tables-save) | grep -- "^-A\\|^:[^ ]* - " || true',
  links: 'ip -br link show | cut -d" " -f1 | cut -d@ -f1',
  routes: 'ip route show',
  addresses: 'ip -br address show scope global | tr -s " "',
  namespaces: 'ls /run/netns 2>/dev/null || true',
  processes: 'ps -eo comm= | grep -c "containerd\\|etcd\\|node\\|pause" || true',
};

export type Footprint = Readonly<Record<string, readonly string[]>>;

export async function footprint(machine: Machine): Promise<Footprint> {
  const entries: [string, string[]][] = [];
  for (const [name, command] of Object.entries(traces)) {
    const text = await machine.sh(command, 120_000);
    entries.push([
      name,
      text
        .split('\n')
        .filter((line) => line.trim() !== '')
        .sort(),
    ]);
  }
  return Object.fromEntries(entries);
}

/** Lines of `after` that `before` lacks, by kind. Pure. */
export function leftBehind(before: Footprint, after: Footprint): Record<string, string[]> {
  const left = Object.entries(after).map(([name, lines]): [string, string[]] => {
    const old = new Set(before[name]);
    return [name, lines.filter((line) => !old.has(line))];
  });
  return Object.fromEntries(left.filter(([, lines]) => lines.length > 0));
}
