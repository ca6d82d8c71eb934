/** `orch down`: ends every process of a cluster; what it knows stays in the data directory. */
import { existsSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { realClock } from '#apimachinery/clock.js';
import { SetupError } from '#cmd/orch/dispatch.js';
import { type Layout, layoutOf } from '#cmd/orch/layout.js';
import { downOptions } from '#cmd/orch/options.js';
import { forgetIdentity, readIdentity, runningProcesses, stopProcess } from '#cmd/orch/process/identity.js';
import { serviceAddressOf } from '#cmd/orch/process/service-address.js';
import { progressPrinter, step } from '#cmd/orch/progress.js';
import { type ClusterSettings, readSettings } from '#cmd/orch/settings.js';
import { helpText } from '#daemon/options/help.js';
import { parseOptions } from '#daemon/options/parse.js';

/** The cluster's own process stops all containers before it ends, each within its grace period. */
const clusterGraceMs = 90_000;
const programGraceMs = 10_000;

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
  await step(sink, 'cluster stopped', () => stopCluster(layout));
  // Whatever outlived a cluster process that was killed.
  await step(sink, 'nothing left running', () => stopLeftOvers(layout, settings));
  if (parsed.values.delete) await step(sink, 'data removed', async () => rmSync(layout.root, { recursive: true }));
  return 0;
}

async function stopCluster(layout: Layout): Promise<void> {
  const file = join(layout.run, 'orch.pid');
  const identity = readIdentity(file);
  if (identity !== undefined) await stopProcess(identity, realClock, clusterGraceMs);
  forgetIdentity(file);
}

async function stopLeftOvers(layout: Layout, settings: ClusterSettings): Promise<void> {
  const running = await runningProcesses(layout.run);
  const etcd = running.get('etcd');
  running.delete('etcd');
  const daemons = [...running.values()];
  await Promise.all(daemons.map((identity) => stopProcess(identity, realClock, programGraceMs)));
  if (settings.runtime === 'containerd') {
    // Loaded only here: every command begins by loading this file.
    const { stopRuntime, unmountVolumes } = await import('#cmd/orch/process/runtime.js');
    await Promise.all(settings.nodes.map((name) => stopRuntime(layout.runtime(name))));
    await unmountVolumes(layout.root);
    await serviceAddressOf(settings).close();
  }
  // The store goes last: everything else may still write.
  if (etcd !== undefined) await stopProcess(etcd, realClock, programGraceMs);
  rmSync(layout.run, { recursive: true, force: true });
}
