/** Runs a node of a cluster whose API server is on another machine: container runtime, node agent, and name server. */
import { existsSync, rmSync } from 'node:fs';
import { env } from 'node:process';
import { loadKubeconfig } from '#client/kubeconfig/load.js';
import { connect } from '#client/rest/client-config.js';
import { startApiBalancer } from '#cluster/clients/api-balancer.js';
import { followServers } from '#cluster/clients/server-list.js';
import type { ClusterContext, RunningCluster, ServeHooks } from '#cluster/config/cluster-context.js';
import { configuredAgent, nodeAgentProgram } from '#cluster/node-agent/program.js';
import { startCertificateRenewal } from '#cluster/pki/certificate-renewal.js';
import { portIsFree } from '#cluster/process/ports.js';
import { nodeAgentArguments, preferredNodeAgentPort } from '#cluster/supervise/arguments.js';
import type { ContainerRuntimes } from '#cluster/supervise/container-runtimes.js';
import { addressesOfNodes, podLogsDir } from '#cluster/supervise/infrastructure.js';
import { setUpNameServer } from '#cluster/supervise/name-server.js';
import { podNetworkOf, setUpServiceProxy } from '#cluster/supervise/node-network.js';
import { agentRecord, recordArguments } from '#cluster/supervise/recorded-arguments.js';
import { step } from '#cluster/terminal/progress.js';
import type { Daemon } from '#daemon/daemon.js';
import { parseOptions } from '#daemon/options/parse.js';
import { validateOptions } from '#daemon/options/validate.js';
import { nodeAgentOptionRules, nodeAgentOptionTable } from '#nodeagent/options/options.js';
import { simulatedEndpoint } from '#nodeagent/simulated/node.js';

/** Longest time until a new node is Ready; ms. A node that joined before waits for its cluster without limit. */
const readyMs = 120_000;
/** Shorter waits are not reported. */
const quietMs = 10_000;

/** Resolves when the node is Ready. Rejects when a part fails to start, or when `signal` aborts. */
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
  const servers = await startApiBalancer(context);
  const dns = await setUpNameServer(context);
  const proxy = setUpServiceProxy(context);
  const config = layout.componentConfig(`node-${name}`);
  const bootstrapConfig = layout.componentConfig('bootstrap');
  const preferred = preferredNodeAgentPort(0);
  const args = nodeAgentArguments({
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
  });
  recordArguments(layout, agentRecord(name), args);
  const agent = await createAgent(context, args);
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
    const ready = Promise.race([agent.ready(), failed, ...(isNew ? [readyTimeout(context, signal)] : [])]);
    return ready.finally(() => waiting.cancel());
  });
  // The node has a certificate now; the token, which lets other machines join, does not stay on its disk.
  rmSync(bootstrapConfig, { force: true });
  const client = connect(await loadKubeconfig(config, { clock, env }), { dialect, clock });
  const following = followServers({ client, servers, clock, random: Math.random, log: context.log }, stop.signal);
  // The informer retries by itself, and the servers learned so far stay in use.
  following.catch((err: unknown) => context.log.error({ err }, 'cannot follow the API servers of the cluster'));
  running.push({
    name: 'client',
    async close() {
      stop.abort();
      await following.catch(() => undefined);
      await client.close();
    },
  });
  startCertificateRenewal(context, { client, failed });
  await onReady();
  return { client, failed };
}

/** Rejects after the time limit of a new node, and with the signal's reason when that aborts. */
async function readyTimeout({ clock, settings }: ClusterContext, signal: AbortSignal): Promise<never> {
  await clock.sleep(readyMs, signal);
  signal.throwIfAborted();
  const [name = ''] = settings.nodes;
  throw new Error(`the node is not Ready after ${readyMs / 1000} s; ask: orchctl describe node ${name}`);
}

/** Loads the gRPC client, which only real containers need. */
async function startRuntime(context: ClusterContext): Promise<ContainerRuntimes> {
  if (context.settings.runtime === 'simulated') return { runtimes: [undefined], pauseImage: undefined };
  const { startContainerRuntimes } = await import('#cluster/supervise/container-runtimes.js');
  return startContainerRuntimes(context);
}

async function createAgent(context: ClusterContext, argv: readonly string[]): Promise<Daemon> {
  const { clock, dialect, log, verbosity } = context;
  const parsed = parseOptions(nodeAgentOptionTable(dialect), argv, { program: 'orch' });
  if (parsed.kind !== 'run') throw new Error('the command line of the node agent must run it');
  validateOptions(parsed, nodeAgentOptionRules);
  const complete = await configuredAgent(parsed, dialect);
  for (const warning of complete.warnings.slice(parsed.warnings.length)) log.warn(warning);
  const own = { dialect, clock, log, verbosity, random: Math.random, env, argv };
  return nodeAgentProgram(context.process).create({ ...complete, ...own });
}
