/** Runs a node of a cluster whose API server is elsewhere: container runtime, node agent, and what is beside it. */
import { existsSync, rmSync } from 'node:fs';
import { env } from 'node:process';
import { loadKubeconfig } from '#client/kubeconfig/load.js';
import { connect } from '#client/rest/client-config.js';
import { nodeAgentProgram } from '#cmd/nodeagent/program.js';
import { nodeAgentArguments, preferredNodeAgentPort } from '#cmd/orch/arguments.js';
import { startCertificateCare } from '#cmd/orch/certificate-care.js';
import type { ContainerRuntimes } from '#cmd/orch/container-runtimes.js';
import type { ClusterContext } from '#cmd/orch/context/cluster-context.js';
import { portIsFree } from '#cmd/orch/context/settings.js';
import { addressesOfNodes, podLogsDir } from '#cmd/orch/infrastructure.js';
import { setUpNameServer } from '#cmd/orch/name-server.js';
import { podNetworkOf } from '#cmd/orch/pod-network.js';
import type { RunningCluster } from '#cmd/orch/running-cluster.js';
import type { ServeHooks } from '#cmd/orch/serve-hooks.js';
import { followServers } from '#cmd/orch/servers/follow-servers.js';
import { openWay } from '#cmd/orch/servers/open-way.js';
import { setUpServiceProxy } from '#cmd/orch/service-proxy.js';
import { step } from '#cmd/orch/terminal/progress.js';
import type { Daemon } from '#daemon/daemon.js';
import { parseOptions } from '#daemon/options/parse.js';
import { validateOptions } from '#daemon/options/validate.js';
import { nodeAgentOptionRules, nodeAgentOptionTable } from '#nodeagent/options/options.js';
import { simulatedEndpoint } from '#nodeagent/simulated/node.js';

/** Longest time until a node that has never been one is Ready; ms. One that has waits for its cluster, however long. */
const readyMs = 120_000;
/** Nobody is told of waits that are shorter. */
const quietMs = 10_000;

/** Resolves when the node is Ready. Rejects when it could not be started, or `signal` aborted meanwhile. */
export async function startJoinedNode(
  context: ClusterContext,
  { progress, onReady }: ServeHooks,
  signal: AbortSignal,
): Promise<RunningCluster> {
  const { clock, dialect, layout, running, settings } = context;
  const [name = ''] = settings.nodes;
  const nodeIPs = await addressesOfNodes(context);
  const { runtimes, pauseImage } = await startRuntime(context);
  signal.throwIfAborted();
  const servers = await openWay(context);
  const dns = await setUpNameServer(context);
  const proxy = setUpServiceProxy(context);
  const config = layout.componentConfig(`node-${name}`);
  const bootstrapConfig = layout.componentConfig('bootstrap');
  const preferred = preferredNodeAgentPort(0);
  const agent = await createAgent(
    context,
    nodeAgentArguments({
      dialect,
      nodeName: name,
      nodeIPs,
      port: (await portIsFree(preferred, nodeIPs[0] ?? '127.0.0.1')) ? preferred : 0,
      config,
      certificates: { bootstrapConfig: existsSync(bootstrapConfig) ? bootstrapConfig : undefined },
      rootDir: layout.node(name),
      podLogsDir: podLogsDir(layout, name),
      runtime: runtimes[0] ?? { endpoint: simulatedEndpoint },
      pauseImage,
      dns: dns(0),
      proxy: proxy(0),
      network: podNetworkOf(context, 0),
      featureGates: context.start.featureGates,
      verbosity: context.start.verbosity,
      more: context.start.daemonOptions.nodeAgent,
      files: { ca: layout.joinedCa, certificate: undefined, key: undefined },
    }),
  );
  const stop = new AbortController();
  const failed = agent.start(stop.signal);
  failed.catch(() => undefined);
  running.push({
    name: 'node agent',
    async close() {
      stop.abort();
      await agent.close();
      await failed.catch(() => undefined);
    },
  });
  const isNew = existsSync(bootstrapConfig);
  await step(progress, 'node Ready', () => {
    const note = 'the cluster to answer; what runs here goes on meanwhile';
    const waiting = clock.setTimer(() => progress({ step: 'node Ready', state: 'waiting', note }), quietMs);
    const ready = Promise.race([agent.ready(), failed, ...(isNew ? [tooLate(context, signal)] : [])]);
    return ready.finally(() => waiting.cancel());
  });
  // The node is known by its certificate from now on: nothing that lets others join stays on its disk.
  rmSync(bootstrapConfig, { force: true });
  const client = connect(await loadKubeconfig(config, { clock, env }), { dialect, clock });
  const following = followServers({ client, servers, clock, random: Math.random, log: context.log }, stop.signal);
  // It goes on trying, and the servers that are known stay known.
  following.catch((err: unknown) => context.log.error({ err }, 'the API servers of the cluster are not followed'));
  running.push({
    name: 'client',
    async close() {
      stop.abort();
      await following.catch(() => undefined);
      await client.close();
    },
  });
  startCertificateCare(context, { client, failed });
  await onReady();
  return { client, failed };
}

/** Rejects when a new node should be Ready by now, and with the signal's reason when that aborts. */
async function tooLate({ clock, settings }: ClusterContext, signal: AbortSignal): Promise<never> {
  await clock.sleep(readyMs, signal);
  signal.throwIfAborted();
  const [name = ''] = settings.nodes;
  throw new Error(`the node is not Ready after ${readyMs / 1000} s; ask: orchctl describe node ${name}`);
}

/** Loaded only where there are containers. */
async function startRuntime(context: ClusterContext): Promise<ContainerRuntimes> {
  if (context.settings.runtime === 'simulated') return { runtimes: [undefined], pauseImage: undefined };
  const { startContainerRuntimes } = await import('#cmd/orch/container-runtimes.js');
  return startContainerRuntimes(context);
}

async function createAgent(context: ClusterContext, argv: readonly string[]): Promise<Daemon> {
  const { clock, dialect, log, verbosity } = context;
  const parsed = parseOptions(nodeAgentOptionTable(dialect), argv, { program: 'orch' });
  if (parsed.kind !== 'run') throw new Error('no options were parsed to something else');
  validateOptions(parsed, nodeAgentOptionRules);
  const own = { dialect, clock, log, verbosity, random: Math.random, env, argv };
  return nodeAgentProgram(context.process).create({ ...parsed, ...own });
}
