/** All daemons in this process: the small cluster. */
import { env } from 'node:process';
import type { Clock } from '#apimachinery/clock.js';
import {
  apiServerArguments,
  apiServerFiles,
  controllerManagerArguments,
  ingressArguments,
  loopsInProcess,
  type NodeDnsArguments,
  type NodeProxyArguments,
  nodeAgentArguments,
  type PodNetworkArguments,
  preferredNodeAgentPort,
  schedulerArguments,
} from '#cmd/orch/arguments.js';
import { ClusterProcess, type NodeOptions } from '#cmd/orch/cluster.js';
import type { ClusterContext } from '#cmd/orch/context/cluster-context.js';
import type { Infrastructure, NodeInfrastructure } from '#cmd/orch/infrastructure.js';
import { advertisedAddress, podLogsDir } from '#cmd/orch/infrastructure.js';
import { setUpIngress } from '#cmd/orch/ingress/set-up-ingress.js';
import { setUpNameServer } from '#cmd/orch/name-server.js';
import { hostAddresses } from '#cmd/orch/network.js';
import { podNetworkOf } from '#cmd/orch/pod-network.js';
import type { RunningCluster } from '#cmd/orch/running-cluster.js';
import { setUpServiceProxy } from '#cmd/orch/service-proxy.js';
import { step } from '#cmd/orch/terminal/progress.js';
import { createRegistry } from '#daemon/metrics/registry.js';
import type { Tracer } from '#daemon/tracing/tracer.js';
import type { CRI } from '#nodeagent/cri/cri.js';
import { simulatedDependencies } from '#nodeagent/simulated/node.js';
import { MemoryStore } from '#storage/memory/memory-store.js';

export async function runTogether(context: ClusterContext, infrastructure: Infrastructure): Promise<RunningCluster> {
  const { dialect, clock, log, verbosity, settings, start, progress, running } = context;
  const { pki } = infrastructure;
  const loops = loopsInProcess({ dialect, featureGates: start.featureGates, verbosity: start.verbosity });
  const metrics = createRegistry({ dialect, process: context.process });
  const process = new ClusterProcess({
    dialect,
    clock,
    log,
    verbosity,
    random: Math.random,
    metrics,
    pki,
    // The nodes' is the one by which the machine is known.
    machineAddresses: [...infrastructure.nodeIPs, ...hostAddresses()],
    ...(settings.server === undefined ? {} : { candidate: settings.server.name }),
    ...(settings.store === 'memory' ? { store: new MemoryStore({ clock }) } : {}),
    apiServerArguments: apiServerArguments({
      dialect,
      etcd: infrastructure.etcd,
      bindAddress: start.bindAddress,
      port: settings.apiPort,
      advertiseAddress: advertisedAddress(context, infrastructure.nodeIPs),
      serviceRange: settings.serviceRange,
      featureGates: start.featureGates,
      verbosity: start.verbosity,
      more: start.daemonOptions.apiServer,
      files: apiServerFiles(pki),
    }),
    controllerManagerArguments: controllerManagerArguments({
      ...loops,
      podRange: settings.podRange,
      serviceRange: settings.serviceRange,
      more: start.daemonOptions.controllerManager,
      files: undefined,
    }),
    schedulerArguments: schedulerArguments({
      ...loops,
      more: start.daemonOptions.scheduler,
      schedulerConfig: start.schedulerConfig,
    }),
    env,
  });
  running.push(process);
  await step(
    progress,
    'API server',
    () => process.startApiServer(),
    () => infrastructure.server,
  );
  await step(progress, 'controllers and scheduler', () => process.startLoops());
  if (start.ingress !== undefined) {
    await setUpIngress(process.api.client);
    process.startIngress(
      ingressArguments({
        dialect,
        config: undefined,
        bindAddress: start.bindAddress,
        ports: start.ingress,
        addresses: infrastructure.nodeIPs,
        verbosity: start.verbosity,
      }),
    );
  }
  const nodes = await infrastructure.nodes;
  const dns = await setUpNameServer(context);
  const proxy = setUpServiceProxy(context);
  const agents = nodes.map(async (node, place) => {
    const placed = {
      ...{ ...node, port: preferredNodeAgentPort(place), dns: dns(place), proxy: proxy(place) },
      network: podNetworkOf(context, place),
    };
    return process.startNode(await nodeOptions(context, infrastructure, placed));
  });
  await step(progress, 'node agents', () => Promise.all(agents));
  const { api, failed } = process;
  return { client: api.client, failed, metrics, elect: (candidate) => process.elect(candidate) };
}

async function nodeOptions(
  context: ClusterContext,
  infrastructure: Infrastructure,
  node: NodeInfrastructure & {
    readonly port: number;
    readonly dns: NodeDnsArguments | undefined;
    readonly proxy: NodeProxyArguments | undefined;
    readonly network: PodNetworkArguments | undefined;
  },
): Promise<NodeOptions> {
  const { dialect, clock, layout, start } = context;
  const { name, runtime } = node;
  return {
    name,
    dependencies: async (tracer) =>
      runtime === undefined
        ? simulatedDependencies({ dialect, clock })
        : { cri: await connectRuntime(runtime.endpoint, { clock, tracer }) },
    arguments: nodeAgentArguments({
      dialect,
      nodeName: name,
      nodeIPs: infrastructure.nodeIPs,
      port: node.port,
      config: undefined,
      rootDir: layout.node(name),
      podLogsDir: podLogsDir(layout, name),
      runtime,
      pauseImage: node.pauseImage,
      dns: node.dns,
      proxy: node.proxy,
      network: node.network,
      featureGates: start.featureGates,
      verbosity: start.verbosity,
      more: start.daemonOptions.nodeAgent,
      files: {
        ca: infrastructure.pki.authority.certificateFile,
        certificate: node.pki.serving.certificateFile,
        key: node.pki.serving.privateKeyFile,
      },
    }),
  };
}

/** Loaded only where there are containers. */
async function connectRuntime(
  endpoint: string,
  { clock, tracer }: { readonly clock: Clock; readonly tracer: Tracer | undefined },
): Promise<CRI> {
  const { GrpcCRI } = await import('#nodeagent/cri/grpc/client.js');
  return new GrpcCRI({ endpoint, clock, traceparent: tracer && (() => tracer.traceparent()) });
}
