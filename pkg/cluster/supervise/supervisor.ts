/** The daemons of a cluster: one interface for those in this process and for those that are a process each. */

import type { ClusterContext, RunningCluster } from '#cluster/config/cluster-context.js';
import type { IngressPorts } from '#cluster/config/start-options.js';
import { setUpIngress } from '#cluster/objects/ingress.js';
import {
  apiServerArguments,
  apiServerFiles,
  ingressArguments,
  type NodeDnsArguments,
  type NodeProxyArguments,
  nodeAgentArguments,
  type PodNetworkArguments,
} from '#cluster/supervise/arguments.js';
import {
  advertisedAddress,
  type Infrastructure,
  type NodeInfrastructure,
  podLogsDir,
} from '#cluster/supervise/infrastructure.js';
import { setUpNameServer } from '#cluster/supervise/name-server.js';
import { podNetworkOf, setUpServiceProxy } from '#cluster/supervise/node-network.js';
import { step } from '#cluster/terminal/progress.js';

/** Starts daemons, and adds them to the context's parts. `client` is valid once the API server has started. */
export interface DaemonSupervisor extends RunningCluster {
  /** Resolves when the API server is ready. */
  startApiServer(): Promise<void>;
  /** Starts the controller manager and the scheduler. */
  startLoops(): Promise<void>;
  startIngress(ports: IngressPorts): Promise<void>;
  startNode(node: PlacedNode): Promise<void>;
}

export interface PlacedNode extends NodeInfrastructure {
  /** Index among the nodes of this machine. */
  readonly place: number;
  readonly dns: NodeDnsArguments | undefined;
  readonly proxy: NodeProxyArguments | undefined;
  readonly network: PodNetworkArguments | undefined;
}

/** Starts all daemons. Parts that pods need start before the daemons that use them, and so stop after them. */
export async function runDaemons(
  context: ClusterContext,
  infrastructure: Infrastructure,
  daemons: DaemonSupervisor,
): Promise<RunningCluster> {
  const { progress, start } = context;
  await step(
    progress,
    'API server',
    () => daemons.startApiServer(),
    () => infrastructure.server,
  );
  const dns = await setUpNameServer(context);
  const proxy = setUpServiceProxy(context);
  await step(progress, 'controllers and scheduler', () => daemons.startLoops());
  if (start.ingress !== undefined) {
    await setUpIngress(daemons.client);
    await daemons.startIngress(start.ingress);
  }
  const nodes = await infrastructure.nodes;
  const agents = nodes.map((node, place) =>
    daemons.startNode({
      ...{ ...node, place, dns: dns(place), proxy: proxy(place) },
      network: podNetworkOf(context, place),
    }),
  );
  await step(progress, 'node agents', () => Promise.all(agents));
  return daemons;
}

/** Command line of the API server. */
export function apiServerCommand(context: ClusterContext, { etcd, nodeIPs, pki }: Infrastructure): string[] {
  const { dialect, layout, settings, start } = context;
  const { bindAddress, daemonOptions, featureGates, verbosity } = start;
  return apiServerArguments({
    ...{ dialect, etcd, bindAddress, featureGates, verbosity },
    port: settings.apiPort,
    advertiseAddress: advertisedAddress(context, nodeIPs),
    serviceRange: settings.serviceRange,
    profiling: false,
    audit: settings.store === 'memory' ? undefined : { policy: layout.auditPolicy, log: layout.auditLog },
    more: daemonOptions.apiServer,
    files: apiServerFiles(pki),
  });
}

/** Command line of a node's agent. */
export function nodeAgentCommand(
  { dialect, layout, start }: ClusterContext,
  { nodeIPs, pki }: Infrastructure,
  node: PlacedNode,
  own: { readonly port: number; readonly config: string | undefined; readonly runtime: PlacedNode['runtime'] },
): string[] {
  const { name, pauseImage, dns, proxy, network } = node;
  const { daemonOptions, featureGates, verbosity } = start;
  return nodeAgentArguments({
    ...{ dialect, nodeName: name, nodeIPs, pauseImage, dns, proxy, network, featureGates, verbosity, ...own },
    rootDir: layout.node(name),
    podLogsDir: podLogsDir(layout, name),
    more: daemonOptions.nodeAgent,
    files: {
      ca: pki.authority.certificateFile,
      certificate: node.pki.serving.certificateFile,
      key: node.pki.serving.privateKeyFile,
    },
  });
}

/** Command line of the ingress controller. */
export function ingressCommand(
  { dialect, start }: ClusterContext,
  { nodeIPs: addresses }: Infrastructure,
  own: { readonly ports: IngressPorts; readonly config: string | undefined; readonly metricsAddress?: string },
): string[] {
  const { bindAddress, verbosity } = start;
  return ingressArguments({ dialect, bindAddress, addresses, verbosity, ...own });
}
