/** `orch down`: ends every process of a cluster; what it knows stays in the data directory. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { realClock } from '#apimachinery/clock.js';
import { SetupError } from '#cmd/orch/dispatch.js';
import { type Layout, layoutOf } from '#cmd/orch/layout.js';
import { downOptions } from '#cmd/orch/options.js';
import {
  forgetIdentity,
  type ProcessIdentity,
  readIdentity,
  runningProcesses,
  stopProcess,
} from '#cmd/orch/process/identity.js';
import { type ProgressSink, progressPrinter, step } from '#cmd/orch/progress.js';
import { serviceAddressOf } from '#cmd/orch/service-address.js';
import { type ClusterSettings, readSettings } from '#cmd/orch/settings.js';
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
  await step(sink, 'cluster stopped', () => stopCluster(layout, sink));
  // Whatever outlived a cluster process that was killed.
  await step(sink, 'nothing left running', () => stopLeftOvers(layout, settings, sink));
  if (parsed.values.delete) await step(sink, 'data removed', async () => rmSync(layout.root, { recursive: true }));
  return 0;
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
  const file = join(layout.run, 'orch.pid');
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
  await Promise.all([...running].map(([name, identity]) => end(name, identity)));
  if (settings.runtime === 'containerd') {
    // Loaded only here: every command begins by loading this file.
    const { stopRuntime, unmountVolumes } = await import('#cmd/orch/process/runtime.js');
    await Promise.all(settings.nodes.map((name) => stopRuntime(layout.runtime(name))));
    await unmountVolumes(layout.root);
    await serviceAddressOf(settings).close();
  }
  // The store goes last: everything else may still write.
  if (etcd !== undefined) await end('etcd', etcd);
  rmSync(layout.run, { recursive: true, force: true });
}
