/** Builds the service proxy that runs beside a node agent if its options enable it. */
import type { Registry } from 'prom-client';
import type { Clock } from '#apimachinery/clock.js';
import type { InformerFactory } from '#client/informer/informer.js';
import type { Logger } from '#daemon/log/logger.js';
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';
import type { ProxyMode } from '#daemon/options/groups/service-proxy.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';
import { kernelSettings } from '#proxy/kernel-settings.js';
import { NodeProxy } from '#proxy/node-proxy.js';
import { proxyOptions, rangesByFamily } from '#proxy/options.js';
import { runWithInput } from '#proxy/program/run-program.js';

export interface NodeServiceProxyDependencies {
  /** The agent's informers, so that both share watches. */
  readonly informers: InformerFactory;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics: Registry;
  readonly nodeName: string;
}

/** Undefined if disabled. */
export function nodeServiceProxy(
  values: NodeAgentOptions,
  dependencies: NodeServiceProxyDependencies,
): NodeProxy | undefined {
  if (!values['service-proxy']) return undefined;
  const { nodeName } = dependencies;
  const { dialect } = dependencies.informers.client;
  const gates = new FeatureGates(values['feature-gates']);
  const others = values['service-proxy-nodes'].filter((name) => name !== nodeName);
  return new NodeProxy({
    ...dependencies,
    nodeNames: [nodeName, ...others],
    mode: values['service-proxy-mode'] as ProxyMode,
    settings: {
      table: values['service-proxy-table'] === '' ? dialect.components.serviceProxy : values['service-proxy-table'],
      clusterCIDRs: rangesByFamily(values['service-proxy-cluster-cidr']),
      masqueradeBit: proxyOptions['nftables-masquerade-bit'].default,
      masqueradeAll: values['service-proxy-masquerade-all'],
      nodePortAddresses: values['service-proxy-nodeport-addresses'],
      isClusterIPInternal: values['service-proxy-cluster-ips-internal'],
    },
    gates: {
      topologyAwareHints: gates.enabled('TopologyAwareHints'),
      proxyTerminatingEndpoints: gates.enabled('ProxyTerminatingEndpoints'),
    },
    policies: values['network-policies'],
    syncPeriodMs: proxyOptions['nftables-sync-period'].default,
    minSyncPeriodMs: proxyOptions['nftables-min-sync-period'].default,
    run: runWithInput,
    kernel: kernelSettings,
  });
}
