/** A process for each daemon, restarted when it ends by itself. */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { env } from 'node:process';
import { fileURLToPath } from 'node:url';
import { loadKubeconfig } from '#client/kubeconfig/load.js';
import { type ClientConfig, connect } from '#client/rest/client-config.js';
import { HttpTransport } from '#client/rest/http-transport.js';
import {
  apiServerArguments,
  apiServerFiles,
  controllerManagerArguments,
  ingressArguments,
  loopsInProcess,
  nodeAgentArguments,
  preferredNodeAgentPort,
  schedulerArguments,
} from '#cmd/orch/arguments.js';
import type { Closable } from '#cmd/orch/context/closable.js';
import type { ClusterContext } from '#cmd/orch/context/cluster-context.js';
import { choosePort, portIsFree } from '#cmd/orch/context/settings.js';
import { type TargetOf, writeTarget } from '#cmd/orch/context/targets.js';
import type { Infrastructure } from '#cmd/orch/infrastructure.js';
import { advertisedAddress, filesOf, podLogsDir } from '#cmd/orch/infrastructure.js';
import { setUpIngress } from '#cmd/orch/ingress/set-up-ingress.js';
import { setUpNameServer } from '#cmd/orch/name-server.js';
import { untilDone } from '#cmd/orch/patience.js';
import { podNetworkOf } from '#cmd/orch/pod-network.js';
import { Child } from '#cmd/orch/process/child.js';
import { replaceFile } from '#cmd/orch/process/replace-file.js';
import type { RunningCluster } from '#cmd/orch/running-cluster.js';
import { withClient } from '#cmd/orch/scheduler-config.js';
import { setUpServiceProxy } from '#cmd/orch/service-proxy.js';
import { PartGroup } from '#cmd/orch/stop-parts.js';
import { step } from '#cmd/orch/terminal/progress.js';
import { daemonEnvironment, daemonNodeFlags } from '#daemon/memory/node-flags.js';
import { parseOptions } from '#daemon/options/parse.js';
import { simulatedEndpoint } from '#nodeagent/simulated/node.js';
import { schedulerOptions } from '#scheduler/options/options.js';
import { setUpScheduler } from '#scheduler/setup.js';

/** The programs beside this one: `dist/bundle`, or `dist/cmd` where nothing is bundled. */
const programs = fileURLToPath(new URL('..', import.meta.url));
/** Without any sign that the API server gets on. */
const apiQuietMs = 60_000;
const apiLimitMs = 600_000;
const askMs = 10_000;
const pollMs = 25;
const loopback = '127.0.0.1';
/** Where release 1.24 has them. Another cluster of this machine may have them already. */
const managerPort = 10_257;
const schedulerPort = 10_259;
const ingressMetricsPort = 10_254;

export async function runSeparately(context: ClusterContext, infrastructure: Infrastructure): Promise<RunningCluster> {
  const { dialect, settings, start, layout, clock, progress, running } = context;
  const { pki } = infrastructure;
  if (infrastructure.etcd === undefined) throw new Error('--store memory is within one process; leave --separate out');
  const { featureGates, verbosity } = start;
  const apiServer = child(context, 'orch-apiserver', dialect.components.apiServer, () =>
    apiServerArguments({
      dialect,
      etcd: infrastructure.etcd,
      bindAddress: start.bindAddress,
      port: settings.apiPort,
      advertiseAddress: advertisedAddress(context, infrastructure.nodeIPs),
      serviceRange: settings.serviceRange,
      featureGates,
      verbosity,
      more: start.daemonOptions.apiServer,
      files: apiServerFiles(pki),
    }),
  );
  await startChild(context, apiServer);
  const { 'certificate-authority': ca, ...own } = filesOf(pki.authority, pki.admin);
  // By files, which are renewed meanwhile, instead of what is in the config.
  const fields = { clusterFields: { 'certificate-authority': ca }, userFields: own };
  const config = await loadKubeconfig(layout.clientConfig, { clock, ...fields });
  const client = connect(config, { dialect, clock });
  running.push({ name: 'client', close: () => client.close() });
  await step(
    progress,
    'API server',
    () => untilReady(config, context, apiServer),
    () => infrastructure.server,
  );
  const ports = new Map<TargetOf, number>();
  /** The port of before where it is free: series are told apart by it, and it is seen how often a daemon starts. */
  const metricsPort = async (part: TargetOf, preferred: number) => {
    const port = await choosePort(ports.get(part) ?? preferred, loopback, Math.random);
    ports.set(part, port);
    writeTarget(layout, part, `${loopback}:${port}`);
    return port;
  };
  let isElecting = settings.server !== undefined;
  const loop = async (component: 'controller-manager' | 'scheduler', preferredPort: number) => {
    const port = await metricsPort(component, preferredPort);
    return {
      dialect,
      config: layout.componentConfig(component),
      port,
      certDir: join(layout.pki, component),
      // Of a single server there is one of each, which is ended before another is started: its successor need not wait
      // for a lease.
      leaderElect: isElecting,
      featureGates,
      verbosity,
    };
  };
  const schedulerConfig = await ownSchedulerConfig(context);
  const { controllerManager, scheduler: schedulerName } = dialect.components;
  const manager = child(context, 'orch-controller-manager', controllerManager, async () =>
    controllerManagerArguments({
      ...(await loop('controller-manager', managerPort)),
      podRange: settings.podRange,
      serviceRange: settings.serviceRange,
      more: start.daemonOptions.controllerManager,
      files: pki,
    }),
  );
  const scheduler = child(context, 'orch-scheduler', schedulerName, async () =>
    schedulerArguments({
      ...(await loop('scheduler', schedulerPort)),
      more: start.daemonOptions.scheduler,
      schedulerConfig,
    }),
  );
  const nodes = await infrastructure.nodes;
  const dns = await setUpNameServer(context);
  const proxy = setUpServiceProxy(context);
  // They end beside each other; only the API server has to outlast them.
  const daemons = new PartGroup('controllers, scheduler and node agents');
  running.push(daemons);
  const agents = nodes.map((node, place) =>
    child(context, 'nodeagent', agentName(context, node.name), async () =>
      nodeAgentArguments({
        dialect,
        nodeName: node.name,
        nodeIPs: infrastructure.nodeIPs,
        port: await freeOrAny(preferredNodeAgentPort(place), infrastructure.nodeIPs[0] ?? loopback),
        config: layout.componentConfig(`node-${node.name}`),
        rootDir: layout.node(node.name),
        podLogsDir: podLogsDir(layout, node.name),
        runtime: node.runtime ?? { endpoint: simulatedEndpoint },
        pauseImage: node.pauseImage,
        dns: dns(place),
        proxy: proxy(place),
        network: podNetworkOf(context, place),
        featureGates,
        verbosity,
        more: start.daemonOptions.nodeAgent,
        files: {
          ca: pki.authority.certificateFile,
          certificate: node.pki.serving.certificateFile,
          key: node.pki.serving.privateKeyFile,
        },
      }),
    ),
  );
  if (start.ingress !== undefined) {
    await setUpIngress(client);
    const ingressPorts = start.ingress;
    const ingress = child(context, 'orch-ingress', dialect.components.ingress, async () => {
      const metricsAddress = `${loopback}:${await metricsPort('ingress', ingressMetricsPort)}`;
      return ingressArguments({
        dialect,
        config: layout.componentConfig('ingress'),
        bindAddress: start.bindAddress,
        ports: ingressPorts,
        addresses: infrastructure.nodeIPs,
        metricsAddress,
        verbosity,
      });
    });
    await startChild({ running: daemons }, ingress);
  }
  await step(progress, 'controllers and scheduler', () =>
    Promise.all([manager, scheduler].map((each) => startChild({ running: daemons }, each))),
  );
  await step(progress, 'node agents', () =>
    Promise.all(agents.map((agent) => startChild({ running: daemons }, agent))),
  );
  // Children are restarted, so nothing that one of them does ends the cluster.
  return {
    client,
    failed: new Promise<void>(() => undefined),
    async elect() {
      isElecting = true;
      await Promise.all([manager.restart(), scheduler.restart()]);
    },
  };
}

/** Rejects with an OptionsError for a file or gates that the scheduler would refuse again and again. */
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

/** Nodes report their ports: the system may choose them. */
async function freeOrAny(port: number, host: string): Promise<number> {
  return (await portIsFree(port, host)) ? port : 0;
}

function agentName({ dialect, settings }: ClusterContext, node: string): string {
  const name = dialect.components.nodeAgent;
  return settings.nodes.length === 1 ? name : `${name}-${node}`;
}

function child(
  { layout, clock, log }: ClusterContext,
  program: string,
  name: string,
  args: () => readonly string[] | Promise<readonly string[]>,
): Child {
  return new Child({
    name,
    command: process.execPath,
    args: async () => [...daemonNodeFlags(program), join(programs, program, 'main.js'), ...(await args())],
    env: daemonEnvironment,
    runDir: layout.run,
    logFile: join(layout.logs, `${name}.log`),
    clock,
    log,
  });
}

async function startChild({ running }: { running: { push(part: Closable): unknown } }, started: Child): Promise<void> {
  running.push(started);
  await started.start();
}

/** Polls, because before the port listens there is nothing to be told by. Waits on as long as the server gets on. */
async function untilReady(config: ClientConfig, context: ClusterContext, server: Child): Promise<void> {
  const { clock, layout, progress } = context;
  const { namespace: _namespace, ...target } = config;
  const transport = new HttpTransport({ ...target, clock });
  const logFile = join(layout.logs, `${server.name}.log`);
  try {
    await untilDone({
      clock,
      pollMs,
      quietMs: apiQuietMs,
      limitMs: apiLimitMs,
      onWaiting: (note) => progress({ step: 'API server', state: 'waiting', note }),
      async look() {
        const { ready, answer } = await askReady(transport);
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

/** `answer`: why not, in words. */
async function askReady(transport: HttpTransport): Promise<{ ready: boolean; answer: string }> {
  const signal = AbortSignal.timeout(askMs);
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
    // Refused or reset: not there yet.
    return { ready: false, answer: 'its port to answer' };
  }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

/** Time that the process has computed: one that waits for its turn on a busy machine still gets on. */
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
