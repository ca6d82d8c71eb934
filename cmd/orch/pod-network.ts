/** Who connects the pods of this machine with those of nodes elsewhere: one agent for all nodes of the machine. */

import { dialectByName } from '#apimachinery/dialect.js';
import { tunnelOf } from '#cmd/nodeagent/pod-network.js';
import type { PodNetworkArguments } from '#cmd/orch/arguments.js';
import type { ClusterContext } from '#cmd/orch/context/cluster-context.js';
import type { ClusterSettings } from '#cmd/orch/context/settings.js';
import { runProgram } from '#dns/local-addresses.js';
import { KernelNetwork } from '#podnetwork/kernel.js';

/** What the node agent at that place is told; undefined where it has nothing to do with it. */
export function podNetworkOf({ settings, start }: ClusterContext, place: number): PodNetworkArguments | undefined {
  // Simulated pods have no network, and somebody else's runtime has one of its own.
  if (place > 0 || settings.runtime === 'simulated' || start.foreignRuntime !== undefined) return undefined;
  return { podRange: settings.podRange, nodes: settings.nodes };
}

/** Takes routes and tunnels of a cluster away, also those that an end by force has left. */
export async function removePodNetwork({
  dialect,
  podRange,
}: Pick<ClusterSettings, 'dialect' | 'podRange'>): Promise<void> {
  const tunnel = tunnelOf(dialectByName(dialect));
  await new KernelNetwork({ run: runProgram, ranges: podRange.split(','), tunnel }).remove();
}
