/** `orch down`: stops every process of a cluster. Its state stays in the data directory. */
import { existsSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { realClock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { type Layout, layoutOf } from '#cluster/config/layout.js';
import { downOptions } from '#cluster/config/options.js';
import { type ClusterSettings, readSettings } from '#cluster/config/settings.js';
import { forgetShutdownDelay } from '#cluster/node-agent/shutdown-delay.js';
import {
  forgetIdentity,
  type ProcessIdentity,
  readIdentity,
  runningProcesses,
  stopProcess,
} from '#cluster/process/identity.js';
import { releaseNameServer } from '#cluster/supervise/name-server.js';
import { removePodNetwork, removeServiceRules } from '#cluster/supervise/node-network.js';
import { serviceAddressOf } from '#cluster/supervise/service-address.js';
import { type ProgressSink, progressPrinter, step } from '#cluster/terminal/progress.js';
import { SetupError } from '#cluster/terminal/setup-error.js';
import { commandOptions } from '#cluster/terminal/subcommand.js';
import { LeftBehindError, type RemovalStep, takeEveryStep, takeStepsTogether } from '#containerd/every-step.js';

/**
 * Time for the cluster's own process to stop its parts one by one, and containers within five seconds. Then the process is
 * killed, and its remaining programs are stopped by pid.
 */
const clusterGraceMs = 45_000;
const programGraceMs = 10_000;
/** Shorter waits are not reported. */
const quietMs = 3000;

export async function down(argv: readonly string[]): Promise<number> {
  const description = 'Stop a cluster of this machine.';
  const parsed = commandOptions(downOptions, argv, { program: 'orch down', description });
  if (parsed === undefined) return 0;
  const layout = layoutOf(resolve(parsed.values['data-dir']));
  const settings = readSettings(layout.settings);
  if (settings === undefined) {
    if (!existsSync(layout.root)) process.stdout.write(`There is no cluster in ${layout.root}.\n`);
    else throw new SetupError(`${layout.root} holds no cluster (no cluster.json)`);
    return 0;
  }
  const sink = progressPrinter(process.stdout, realClock);
  try {
    await takeEveryStep([
      ['the process of the cluster', () => step(sink, 'cluster stopped', () => stopCluster(layout, sink))],
      // Programs that outlived a killed cluster process.
      ['other processes', () => step(sink, 'nothing left running', () => stopLeftOvers(layout, settings, sink))],
    ]);
    if (parsed.values.delete) {
      await forgetShutdownDelay(settings);
      await step(sink, 'data removed', () => removeData(layout.root));
    }
    return 0;
  } catch (error) {
    const left = error instanceof LeftBehindError ? error.left : [messageOf(error)];
    process.stderr.write(`\nThese parts of the cluster remain, and its data is kept:\n`);
    for (const line of left) process.stderr.write(`  ${line}\n`);
    process.stderr.write(`Fix the cause and run this again: orch ${['down', ...argv].join(' ')}\n`);
    return 1;
  }
}

/** Retries, since an unmounted file system or a killed process may use the directory for a moment. */
function removeData(root: string): Promise<void> {
  return rm(root, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}

/** Empty for a missing file. */
function readOrEmpty(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

async function stopCluster(layout: Layout, sink: ProgressSink): Promise<void> {
  const file = layout.process;
  const identity = readIdentity(file);
  if (identity !== undefined) {
    await stopProcess(identity, realClock, clusterGraceMs, (waitedMs) => {
      if (waitedMs < quietMs) return;
      const part = readOrEmpty(layout.stopping);
      const detail = part === '' ? '' : `, which stops its ${part}`;
      sink({ step: 'cluster stopped', state: 'waiting', note: `process ${identity.pid}${detail}` });
    });
  }
  forgetIdentity(file);
}

async function stopLeftOvers(layout: Layout, settings: ClusterSettings, sink: ProgressSink): Promise<void> {
  const running = await runningProcesses(layout.run);
  const etcd = running.get('etcd');
  running.delete('etcd');
  const end = (name: string, identity: ProcessIdentity) =>
    stopProcess(identity, realClock, programGraceMs, (waitedMs) => {
      const note = `${name}, process ${identity.pid}`;
      if (waitedMs >= quietMs) sink({ step: 'nothing left running', state: 'waiting', note });
    });
  await takeEveryStep([
    ['programs', () => takeStepsTogether([...running].map(([name, identity]) => [name, () => end(name, identity)]))],
    ...(settings.runtime === 'containerd' ? await containerSteps(layout, settings, sink) : []),
    // The store stops last: everything else may still write.
    ['etcd', async () => etcd !== undefined && (await end('etcd', etcd))],
  ]);
  await rm(layout.run, { recursive: true, force: true });
}

async function containerSteps(layout: Layout, settings: ClusterSettings, sink: ProgressSink): Promise<RemovalStep[]> {
  // Loaded only for real containers.
  const { stopRuntime, unmountVolumes } = await import('#cluster/supervise/runtime.js');
  const stopNode = (name: string) =>
    stopRuntime(layout.runtime(name), (problem) =>
      sink({ step: 'nothing left running', state: 'waiting', note: `killing the containers of ${name}: ${problem}` }),
    );
  return [
    [
      'container runtimes',
      () => takeStepsTogether(settings.nodes.map((name) => [`container runtime of ${name}`, () => stopNode(name)])),
    ],
    ['volumes', () => unmountVolumes(layout.root)],
    ['rule for the service address', () => serviceAddressOf(settings).close()],
    ['address of the name server', () => releaseNameServer(layout)],
    ['rules of services', () => removeServiceRules(layout)],
    ['routes to pods of other nodes', () => removePodNetwork(settings)],
  ];
}
