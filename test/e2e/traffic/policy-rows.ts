/** Allowed and denied connections under the policies of manifests.ts. */
import { type Addresses, addressOf, families, protocols } from '#test/e2e/traffic/addresses.js';
import type { HostCluster } from '#test/e2e/traffic/cluster.js';
import { webPods } from '#test/e2e/traffic/manifests.js';
import type { Places } from '#test/e2e/traffic/places.js';
import type { Target } from '#test/e2e/traffic/protocol.js';
import type { Row } from '#test/e2e/traffic/table.js';

export function policyRows(cluster: HostCluster, at: Addresses, places: Places): Row[] {
  const { outside, stranger } = cluster;
  const may = (from: string, to: Target, expect: string | undefined): Row => ({
    ...{ what: expect === undefined ? 'may not' : 'may', from: places.get(from), to },
    ...(expect === undefined ? { expect: [], how: 'timeout' as const } : { expect: [expect] }),
  });
  // Denied connections first, since all were allowed a moment ago.
  return families.flatMap((family): Row[] => [
    ...webPods.flatMap((name) => [
      may('friend', at.pod(name, family, 'TCP', 8081), undefined),
      may('friend', at.pod(name, family, 'UDP', 8053), undefined),
      may('friend', at.pod(name, family, 'TCP', 8080), name),
      may('other', at.pod(name, family, 'TCP', 8082), undefined),
      may('other', at.pod(name, family, 'UDP', 8053), undefined),
      may('other', at.pod(name, family, 'TCP', 8080), name),
      may('other', at.pod(name, family, 'TCP', 8081), name),
      ...webPods
        .filter((other) => other !== name)
        .map((other) => may(other, at.pod(name, family, 'TCP', 8080), undefined)),
      may(cluster.nodeOf(name), at.pod(name, family, 'TCP', 8082), name),
    ]),
    // Node ports with the local traffic policy keep the addresses of clients.
    ...protocols.flatMap((protocol) => [
      may('stranger', at.node('ported-kept', 'near', family, protocol), undefined),
      may('outside', at.node('ported-kept', 'near', family, protocol), 'web-near'),
      may('outside', at.node('ported-kept', 'far', family, protocol), 'web-far'),
    ]),
    may('friend', { protocol: 'TCP', port: 8080, address: addressOf(stranger, family) }, undefined),
    may('friend', { protocol: 'TCP', port: 8082, address: addressOf(outside, family) }, undefined),
    may('friend', { protocol: 'TCP', port: 8081, address: addressOf(outside, family) }, 'outside'),
    may('friend', { protocol: 'TCP', port: 8080, address: at.podIP('other', family) }, undefined),
  ]);
}
