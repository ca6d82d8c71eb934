/** Who leads the services of a cluster to their pods. All its nodes are this machine, so one proxy does for them all. */
import { createHash } from 'node:crypto';
import type { NodeProxyArguments } from '#cmd/orch/arguments.js';
import { keptForPods } from '#cmd/orch/context/closable.js';
import type { ClusterContext } from '#cmd/orch/context/cluster-context.js';
import type { Layout } from '#cmd/orch/context/layout.js';
import { removeRules } from '#proxy/backend.js';
import { runWithInput } from '#proxy/program/run-program.js';

/** What the node agents are told, by their places; undefined: the agent has no proxy. */
export type ServiceProxy = (place: number) => NodeProxyArguments | undefined;

export function setUpServiceProxy({ layout, running, settings, start }: ClusterContext): ServiceProxy {
  // Simulated pods have no network.
  if (start.serviceProxy === 'none' || settings.runtime === 'simulated') return () => undefined;
  running.push(keptForPods('rules of services', () => removeServiceRules(layout)));
  const { nodes, podRange } = settings;
  return (place) => (place === 0 ? { table: tableOf(layout), podRange, nodes } : undefined);
}

/** Also those that an end by force has left. */
export async function removeServiceRules(layout: Layout): Promise<void> {
  await removeRules(runWithInput, tableOf(layout));
}

/** Clusters of one machine have a table each. */
export function tableOf({ root }: Layout): string {
  return `orch-${createHash('sha256').update(root).digest('hex').slice(0, 8)}`;
}
