/** Where in etcd a leader election's lock is: beside all objects, whatever prefix those have. */
export function electionKey(namespace: string, name: string): string {
  return `/leader-election/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}
