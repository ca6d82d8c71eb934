/** A process for each daemon, restarted when it ends by itself. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadKubeconfig } from '#client/kubeconfig/load.js';
import { type ClientConfig, connect } from '#client/rest/client-config.js';
import { HttpTransport } from '#client/rest/http-transport.js';
import {
  apiServerArguments,
  apiServerFiles,
  controllerManagerArguments,
  nodeAgentArguments,
  schedulerArguments,
} from '#cmd/orch/arguments.js';
import type { ClusterContext, Infrastructure } from '#cmd/orch/infrastructure.js';
import { advertisedAddress, podLogsDir } from '#cmd/orch/infrastructure.js';
import { Child } from '#cmd/orch/process/child.js';
import { step } from '#cmd/orch/progress.js';
import type { RunningCluster } from '#cmd/orch/running-cluster.js';
import { choosePort } from '#cmd/orch/settings.js';
import { simulatedEndpoint } from '#nodeagent/cri/simulated/node.js';

/** The programs beside this one: `dist/bundle`, or `dist/cmd` where nothing is bundled. */
const programs = fileURLToPath(new URL('..', import.meta.url));
const apiPatienceMs = 60_000;
const pollMs = 25;

export async function runSeparately(context: ClusterContext, infrastructure: Infrastructure): Promise<RunningCluster> {
  const { dialect, settings, start, layout, clock, progress, running } = context;
  const { pki } = infrastructure;
  if (infrastructure.etcd === undefined) throw new Error('--store memory is within one process; leave --separate out');
  const verbosity = start.verbosity;
  const apiServer = child(context, 'orch-apiserver', dialect.components.apiServer, [
    ...apiServerArguments({
      dialect,
      etcd: infrastructure.etcd,
      bindAddress: start.bindAddress,
      port: settings.apiPort,
      advertiseAddress: advertisedAddress(context),
      serviceRange: settings.serviceRange,
      verbosity,
      files: apiServerFiles(pki),
    }),
  ]);
  await startChild(context, apiServer);
  const config = await loadKubeconfig(layout.clientConfig, { clock });
  const client = connect(config, { dialect, clock });
  running.push(client);
  await step(
    progress,
    'API server',
    () => untilReady(config, context),
    () => infrastructure.server,
  );
  const [managerPort, schedulerPort] = [await choosePort(10_257, '127.0.0.1'), await choosePort(10_259, '127.0.0.1')];
  const loop = (component: string, port: number) => ({
    dialect,
    config: layout.componentConfig(component),
    port,
    certDir: join(layout.pki, component),
    // There is one of each, which is ended before another is started: its successor need not wait for a lease.
    leaderElect: false,
    verbosity,
  });
  const manager = child(context, 'orch-controller-manager', dialect.components.controllerManager, [
    ...controllerManagerArguments({
      ...loop('controller-manager', managerPort),
      rootCaFile: pki.authority.certificateFile,
      signingKeyFile: pki.serviceAccount.privateKeyFile,
    }),
  ]);
  const scheduler = child(context, 'orch-scheduler', dialect.components.scheduler, [
    ...schedulerArguments(loop('scheduler', schedulerPort)),
  ]);
  const nodes = await infrastructure.nodes;
  const agents = nodes.map((node) =>
    child(context, 'nodeagent', agentName(context, node.name), [
      ...nodeAgentArguments({
        dialect,
        nodeName: node.name,
        config: layout.componentConfig(`node-${node.name}`),
        rootDir: layout.node(node.name),
        podLogsDir: podLogsDir(layout, node.name),
        runtimeEndpoint: node.runtimeEndpoint ?? simulatedEndpoint,
        pauseImage: node.pauseImage,
        podRange: node.podRange,
        verbosity,
        files: {
          ca: pki.authority.certificateFile,
          certificate: node.pki.serving.certificateFile,
          key: node.pki.serving.privateKeyFile,
        },
      }),
    ]),
  );
  await step(progress, 'controllers and scheduler', () =>
    Promise.all([startChild(context, manager), startChild(context, scheduler)]),
  );
  await step(progress, 'node agents', () => Promise.all(agents.map((agent) => startChild(context, agent))));
  // Children are restarted, so nothing that one of them does ends the cluster.
  return { client, failed: new Promise<void>(() => undefined) };
}

function agentName({ dialect, settings }: ClusterContext, node: string): string {
  const name = dialect.components.nodeAgent;
  return settings.nodes.length === 1 ? name : `${name}-${node}`;
}

function child({ layout, clock, log }: ClusterContext, program: string, name: string, args: readonly string[]): Child {
  return new Child({
    name,
    command: process.execPath,
    args: [join(programs, program, 'main.js'), ...args],
    runDir: layout.run,
    logFile: join(layout.logs, `${name}.log`),
    clock,
    log,
  });
}

async function startChild({ running }: ClusterContext, started: Child): Promise<void> {
  running.push(started);
  await started.start();
}

/** Polls, because before the port listens there is nothing to be told by. */
async function untilReady(config: ClientConfig, { clock, layout }: ClusterContext): Promise<void> {
  const { namespace: _namespace, ...target } = config;
  const transport = new HttpTransport({ ...target, clock });
  const deadline = clock.now() + apiPatienceMs;
  const signal = AbortSignal.timeout(apiPatienceMs);
  try {
    while (!(await isReady(transport, signal))) {
      if (clock.now() > deadline) throw new Error(`the API server is not ready; its log is in ${layout.logs}`);
      await clock.sleep(pollMs);
    }
  } finally {
    await transport.close();
  }
}

async function isReady(transport: HttpTransport, signal: AbortSignal): Promise<boolean> {
  try {
    const { status, body } = await transport.request({ method: 'GET', path: '/readyz', headers: {}, signal });
    for await (const _part of body);
    return status === 200;
  } catch {
    // Refused or reset: not there yet.
    return false;
  }
}
