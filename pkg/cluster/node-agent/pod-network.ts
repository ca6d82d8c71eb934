/** Builds the pod network that runs beside a node agent if its options enable it. */
import type { Dialect } from '#apimachinery/dialect.js';
import type { NodeServiceProxyDependencies } from '#cluster/node-agent/service-proxy.js';
import { runProgram } from '#dns/local-addresses.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';
import { KernelNetwork } from '#podnetwork/kernel.js';
import { PodNetwork } from '#podnetwork/pod-network.js';

/** Undefined if disabled. */
export function nodePodNetwork(
  values: NodeAgentOptions,
  dependencies: Omit<NodeServiceProxyDependencies, 'metrics'>,
): PodNetwork | undefined {
  if (!values['pod-network']) return undefined;
  const { informers, nodeName } = dependencies;
  const named = values['pod-network-tunnel'];
  const tunnel = named === '' ? tunnelOf(informers.client.dialect) : named;
  return new PodNetwork({
    ...dependencies,
    own: [nodeName, ...values['pod-network-nodes'].filter((name) => name !== nodeName)],
    kernel: new KernelNetwork({ run: runProgram, ranges: values['pod-network-cluster-cidr'], tunnel }),
    tunnel,
  });
}

/** Default name of the tunnel's interface. */
export function tunnelOf({ shortName }: Dialect): string {
  return `${shortName}-vxlan`;
}
