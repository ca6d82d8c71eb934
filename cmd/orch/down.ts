/** `orch down`: ends every process of a cluster; what it knows stays in the data directory. */
import { existsSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { realClock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { type Layout, layoutOf } from '#cmd/orch/context/layout.js';
import { type ClusterSettings, readSettings } from '#cmd/orch/context/settings.js';
import { releaseNameServer } from '#cmd/orch/name-server.js';
import { downOptions } from '#cmd/orch/options.js';
import { removePodNetwork } from '#cmd/orch/pod-network.js';
import {
  forgetIdentity,
  type ProcessIdentity,
  readIdentity,
  runningProcesses,
  stopProcess,
} from '#cmd/orch/process/identity.js';
import { serviceAddressOf } from '#cmd/orch/service-address.js';
import { removeServiceRules } from '#cmd/orch/service-proxy.js';
import { type ProgressSink, progressPrinter, step } from '#cmd/orch/terminal/progress.js';
import { SetupError } from '#cmd/orch/terminal/setup-error.js';
import { LeftBehindError, type RemovalStep, takeEveryStep, takeStepsTogether } from '#containerd/every-step.js';
import { helpText } from '#daemon/options/help.js';
import { parseOptions } from '#daemon/options/parse.js';

/**
 * The cluster's own process ends its parts one after the other, each within a limit; containers get five seconds. It is
 * killed after this, and what it left is ended by pid.
 */
const clusterGraceMs = 45_000;
const programGraceMs = 10_000;
/** Nobody is told of waits that are shorter. */
const quietMs = 3000;

export async function down(argv: readonly string[]): Promise<number> {
  const parsed = parseOptions(downOptions, argv, { program: 'orch down' });
  if (parsed.kind !== 'run') {
    process.stdout.write(
      helpText(downOptions, { program: 'orch down', description: 'Stop a cluster of this machine.' }),
    );
    return 0;
  }
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
      // Whatever outlived a cluster process that was killed.
      ['other processes', () => step(sink, 'nothing left running', () => stopLeftOvers(layout, settings, sink))],
    ]);
    if (parsed.values.delete) await step(sink, 'data removed', () => removeData(layout.root));
    return 0;
  } catch (error) {
    const left = error instanceof LeftBehindError ? error.left : [messageOf(error)];
    process.stderr.write(`\nThis is left of the cluster, whose data stays where it is:\n`);
    for (const line of left) process.stderr.write(`  ${line}\n`);
    process.stderr.write(`Run this once more when the cause is gone: orch ${['down', ...argv].join(' ')}\n`);
    return 1;
  }
}

/** Something in it may still be in use for a moment, by a mount that has been ended or a process that was killed. */
function removeData(root: string): Promise<void> {
  return rm(root, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}

/** Empty for a file that is not there. */
function textOf(file: string): string {
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
      const part = textOf(layout.stopping);
      const what = part === '' ? '' : `, which stops its ${part}`;
      sink({ step: 'cluster stopped', state: 'waiting', note: `process ${identity.pid}${what}` });
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
    // The store goes last: everything else may still write.
    ['etcd', async () => etcd !== undefined && (await end('etcd', etcd))],
  ]);
  await rm(layout.run, { recursive: true, force: true });
}

async function containerSteps(layout: Layout, settings: ClusterSettings, sink: ProgressSink): Promise<RemovalStep[]> {
  // Loaded only here: every command begins by loading this file.
  const { stopRuntime, unmountVolumes } = await import('#cmd/orch/process/runtime.js');
  const stopNode = (name: string) =>
    stopRuntime(layout.runtime(name), (why) =>
      sink({ step: 'nothing left running', state: 'waiting', note: `containers of ${name} are killed, since ${why}` }),
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
