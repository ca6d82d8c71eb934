/** Service proxy and pod network of this machine. One node agent runs them for all nodes of the machine. */
import { createHash } from 'node:crypto';
import { dialectByName } from '#apimachinery/dialect.js';
import { type ClusterContext, keptForPods } from '#cluster/config/cluster-context.js';
import type { Layout } from '#cluster/config/layout.js';
import type { ClusterSettings } from '#cluster/config/settings.js';
import { tunnelOf } from '#cluster/node-agent/pod-network.js';
import type { NodeProxyArguments, PodNetworkArguments } from '#cluster/supervise/arguments.js';
import { runProgram } from '#dns/local-addresses.js';
import { KernelNetwork } from '#podnetwork/kernel.js';
import { removeRules } from '#proxy/backend.js';
import { runWithInput } from '#proxy/program/run-program.js';

/** Options of the node agent with that index; undefined: it runs no proxy. */
export type ServiceProxy = (place: number) => NodeProxyArguments | undefined;

export function setUpServiceProxy({ layout, running, settings, start }: ClusterContext): ServiceProxy {
  // Simulated pods have no network.
  if (start.serviceProxy === 'none' || settings.runtime === 'simulated') return () => undefined;
  running.push(keptForPods('rules of services', () => removeServiceRules(layout)));
  const { nodes, podRange } = settings;
  return (place) => (place === 0 ? { table: tableOf(layout), podRange, nodes } : undefined);
}

/** Removes the rules, also those of a killed run. */
export async function removeServiceRules(layout: Layout): Promise<void> {
  await removeRules(runWithInput, tableOf(layout));
}

/** Name of the nftables table; each cluster of a machine has its own. */
export function tableOf({ root }: Layout): string {
  return `orch-${createHash('sha256').update(root).digest('hex').slice(0, 8)}`;
}

/** Options of the node agent with that index; undefined: it runs no pod network. */
export function podNetworkOf({ settings, start }: ClusterContext, place: number): PodNetworkArguments | undefined {
  // Simulated pods have no network, and a foreign runtime has its own.
  if (place > 0 || settings.runtime === 'simulated' || start.foreignRuntime !== undefined) return undefined;
  return { podRange: settings.podRange, nodes: settings.nodes };
}

/** Removes the cluster's routes and tunnels, also those of a killed run. */
export async function removePodNetwork({
  dialect,
  podRange,
}: Pick<ClusterSettings, 'dialect' | 'podRange'>): Promise<void> {
  const tunnel = tunnelOf(dialectByName(dialect));
  await new KernelNetwork({ run: runProgram, ranges: podRange.split(','), tunnel }).remove();
}
