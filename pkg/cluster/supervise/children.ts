/** A process for each daemon, restarted when it exits. */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { env } from 'node:process';
import type { Client } from '#client/client.js';
import { loadKubeconfig } from '#client/kubeconfig/load.js';
import { type ClientConfig, connect } from '#client/rest/client-config.js';
import { HttpTransport } from '#client/rest/http-transport.js';
import { programsFolder } from '#cluster/background/detached.js';
import type { ClusterContext, Part } from '#cluster/config/cluster-context.js';
import type { IngressPorts } from '#cluster/config/start-options.js';
import { type TargetOf, writeTarget } from '#cluster/observe/targets.js';
import { Child } from '#cluster/process/child.js';
import { choosePort, portIsFree } from '#cluster/process/ports.js';
import { replaceFile } from '#cluster/process/replace-file.js';
import {
  controllerManagerArguments,
  loopsInProcess,
  preferredNodeAgentPort,
  schedulerArguments,
} from '#cluster/supervise/arguments.js';
import { filesOf, type Infrastructure } from '#cluster/supervise/infrastructure.js';
import { agentRecord, recordArguments } from '#cluster/supervise/recorded-arguments.js';
import { withClient } from '#cluster/supervise/scheduler-config.js';
import { untilDone } from '#cluster/supervise/stall-timeout.js';
import { PartGroup } from '#cluster/supervise/stop-parts.js';
import {
  apiServerCommand,
  type DaemonSupervisor,
  ingressCommand,
  nodeAgentCommand,
  type PlacedNode,
} from '#cluster/supervise/supervisor.js';
import { daemonEnvironment, daemonNodeFlags } from '#daemon/memory/node-flags.js';
import { parseOptions } from '#daemon/options/parse.js';
import { simulatedEndpoint } from '#nodeagent/simulated/node.js';
import { schedulerOptions } from '#scheduler/options/options.js';
import { setUpScheduler } from '#scheduler/setup.js';

/** Longest time without a sign of progress of the API server, and longest time in all; ms. */
const apiStallMs = 60_000;
const apiLimitMs = 600_000;
const requestMs = 10_000;
const pollMs = 25;
const loopback = '127.0.0.1';
/** Ports of release 1.24. Another cluster of this machine may use them. */
const managerPort = 10_257;
const schedulerPort = 10_259;
const ingressMetricsPort = 10_254;

export class ChildDaemons implements DaemonSupervisor {
  /** Never settles: a child that exits is restarted. */
  readonly failed = new Promise<void>(() => undefined);
  readonly #context: ClusterContext;
  readonly #infrastructure: Infrastructure;
  /** Children that stop at the same time, before the API server. */
  readonly #group = new PartGroup('controllers, scheduler and node agents');
  /** Last port of each daemon's metrics. */
  readonly #metricsPorts = new Map<TargetOf, number>();
  #client: Client | undefined;
  #loops: readonly Child[] = [];
  #isElecting: boolean;

  constructor(context: ClusterContext, infrastructure: Infrastructure) {
    if (infrastructure.etcd === undefined)
      throw new Error('--store memory is within one process; leave --separate out');
    this.#context = context;
    this.#infrastructure = infrastructure;
    this.#isElecting = context.settings.server !== undefined;
  }

  get client(): Client {
    if (this.#client === undefined) throw new Error('the API server was not started');
    return this.#client;
  }

  readonly elect = async (): Promise<void> => {
    this.#isElecting = true;
    await Promise.all(this.#loops.map((loop) => loop.restart()));
  };

  async startApiServer(): Promise<void> {
    const context = this.#context;
    const { clock, dialect, layout, running } = context;
    const { pki } = this.#infrastructure;
    const server = this.#child('orch-apiserver', dialect.components.apiServer, () =>
      apiServerCommand(context, this.#infrastructure),
    );
    await startChild(running, server);
    const { 'certificate-authority': ca, ...own } = filesOf(pki.authority, pki.admin);
    // The files are renewed while this process runs, the certificates within the config are not.
    const fields = { clusterFields: { 'certificate-authority': ca }, userFields: own };
    const config = await loadKubeconfig(layout.clientConfig, { clock, ...fields });
    const client = connect(config, { dialect, clock });
    this.#client = client;
    running.push({ name: 'client', close: () => client.close() });
    await untilReady(config, context, server);
  }

  async startLoops(): Promise<void> {
    const context = this.#context;
    const { dialect, running, settings, start } = context;
    const { podRange, serviceRange } = settings;
    const { daemonOptions } = start;
    const schedulerConfig = await ownSchedulerConfig(context);
    const manager = this.#child('orch-controller-manager', dialect.components.controllerManager, async () =>
      controllerManagerArguments({
        ...(await this.#loopArguments('controller-manager', managerPort)),
        ...{ podRange, serviceRange, ownAccounts: true },
        more: daemonOptions.controllerManager,
        files: this.#infrastructure.pki,
      }),
    );
    const scheduler = this.#child('orch-scheduler', dialect.components.scheduler, async () =>
      schedulerArguments({
        ...(await this.#loopArguments('scheduler', schedulerPort)),
        more: daemonOptions.scheduler,
        schedulerConfig,
      }),
    );
    this.#loops = [manager, scheduler];
    running.push(this.#group);
    await Promise.all(this.#loops.map((loop) => startChild(this.#group, loop)));
  }

  async startIngress(ports: IngressPorts): Promise<void> {
    const { dialect, layout } = this.#context;
    const ingress = this.#child('orch-ingress', dialect.components.ingress, async () =>
      ingressCommand(this.#context, this.#infrastructure, {
        ports,
        config: layout.componentConfig('ingress'),
        metricsAddress: `${loopback}:${await this.#metricsPort('ingress', ingressMetricsPort)}`,
      }),
    );
    await startChild(this.#group, ingress);
  }

  async startNode(node: PlacedNode): Promise<void> {
    const { layout } = this.#context;
    const { nodeIPs } = this.#infrastructure;
    const { name, place, runtime = { endpoint: simulatedEndpoint } } = node;
    const command = async () => {
      const port = await freeOrAny(preferredNodeAgentPort(place), nodeIPs[0] ?? loopback);
      const own = { port, config: layout.componentConfig(`node-${name}`), runtime };
      return nodeAgentCommand(this.#context, this.#infrastructure, node, own);
    };
    const agent = this.#child('nodeagent', agentName(this.#context, name), command, agentRecord(name));
    await startChild(this.#group, agent);
  }

  async #loopArguments(component: 'controller-manager' | 'scheduler', preferredPort: number) {
    const { dialect, layout, start } = this.#context;
    const port = await this.#metricsPort(component, preferredPort);
    return {
      dialect,
      config: layout.componentConfig(component),
      port,
      certDir: join(layout.pki, component),
      // A single server has one process of each, which exits before its successor starts: no lease is needed.
      leaderElect: this.#isElecting,
      featureGates: start.featureGates,
      verbosity: start.verbosity,
      profiling: false,
    };
  }

  /** The last port where it is free: series are told apart by it, so restarts of a daemon stay visible. */
  async #metricsPort(part: TargetOf, preferred: number): Promise<number> {
    const port = await choosePort(this.#metricsPorts.get(part) ?? preferred, loopback, Math.random);
    this.#metricsPorts.set(part, port);
    writeTarget(this.#context.layout, part, `${loopback}:${port}`);
    return port;
  }

  /** @param record Name of the record of its options. */
  #child(
    program: string,
    name: string,
    args: () => readonly string[] | Promise<readonly string[]>,
    record = program,
  ): Child {
    const { layout, clock, log } = this.#context;
    return new Child({
      name,
      command: process.execPath,
      args: async () => {
        const own = await args();
        recordArguments(layout, record, own);
        return [...daemonNodeFlags(program), join(programsFolder(), program, 'main.js'), ...own];
      },
      env: daemonEnvironment(program),
      runDir: layout.run,
      logFile: join(layout.logs, `${name}.log`),
      clock,
      log,
    });
  }
}

async function startChild(parts: { push(part: Part): unknown }, child: Child): Promise<void> {
  parts.push(child);
  await child.start();
}

/** Writes the scheduler's configuration file. Rejects with an OptionsError for one that the scheduler would refuse at each restart. */
async function ownSchedulerConfig({ dialect, layout, log, start }: ClusterContext): Promise<string | undefined> {
  const { featureGates, schedulerConfig: source, verbosity } = start;
  let path: string | undefined;
  if (source !== undefined) {
    path = join(layout.run, 'scheduler-config.json');
    const text = withClient(readFileSync(source, 'utf8'), source, layout.componentConfig('scheduler'));
    replaceFile(path, text);
  }
  const loop = loopsInProcess({ dialect, featureGates, verbosity });
  const args = schedulerArguments({ ...loop, more: start.daemonOptions.scheduler, schedulerConfig: path });
  const parsed = parseOptions(schedulerOptions(dialect), args, { program: 'orch' });
  if (parsed.kind === 'run') await setUpScheduler(parsed, { dialect, env, log });
  return path;
}

/** The port, or 0 where it is in use: nodes report the port that the system chooses. */
async function freeOrAny(port: number, host: string): Promise<number> {
  return (await portIsFree(port, host)) ? port : 0;
}

function agentName({ dialect, settings }: ClusterContext, node: string): string {
  const name = dialect.components.nodeAgent;
  return settings.nodes.length === 1 ? name : `${name}-${node}`;
}

/** Polls `/readyz`. Waits as long as the server makes progress. */
async function untilReady(config: ClientConfig, context: ClusterContext, server: Child): Promise<void> {
  const { clock, layout, progress } = context;
  const { namespace: _namespace, ...target } = config;
  const transport = new HttpTransport({ ...target, clock });
  const logFile = join(layout.logs, `${server.name}.log`);
  try {
    await untilDone({
      clock,
      pollMs,
      stallMs: apiStallMs,
      limitMs: apiLimitMs,
      onWaiting: (note) => progress({ step: 'API server', state: 'waiting', note }),
      async look() {
        const { ready, answer } = await readReadiness(transport);
        const cpu = server.pid === undefined ? 'not running' : cpuTicks(server.pid);
        return { done: ready, waitingFor: answer, progress: `${answer} ${sizeOf(logFile)} ${cpu}` };
      },
    });
  } catch (error) {
    throw new Error(`the API server is not ready: ${(error as Error).message}; its log is ${logFile}`, {
      cause: error,
    });
  } finally {
    await transport.close();
  }
}

/** `answer`: why it is not ready, for people. */
async function readReadiness(transport: HttpTransport): Promise<{ ready: boolean; answer: string }> {
  const signal = AbortSignal.timeout(requestMs);
  try {
    const { status, body } = await transport.request({ method: 'GET', path: '/readyz?verbose', headers: {}, signal });
    const parts: Buffer[] = [];
    for await (const part of body) parts.push(Buffer.from(part));
    const failing = [
      ...Buffer.concat(parts)
        .toString()
        .matchAll(/^\[-\](\S+)/gm),
    ].map(([, check]) => check);
    return { ready: status === 200, answer: `its checks ${failing.join(', ')} (status ${status})` };
  } catch {
    // Refused or reset: it does not listen yet.
    return { ready: false, answer: 'its port to answer' };
  }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

/** CPU time of the process: on a busy machine it grows slowly, but it grows. */
function cpuTicks(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 13)
      .join('+');
  } catch {
    return 'gone';
  }
}
