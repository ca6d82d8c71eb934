/** Runs a cluster until it is told to stop: infrastructure first, daemons on top, and back down in reverse order. */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { realClock } from '#apimachinery/clock.js';
import { dialectByName } from '#apimachinery/dialect.js';
import type { Closable } from '#cmd/orch/closable.js';
import { startInfrastructure } from '#cmd/orch/infrastructure.js';
import { layoutOf } from '#cmd/orch/layout.js';
import { untilNodesReady, untilPodsAreAdmitted } from '#cmd/orch/nodes-ready.js';
import { writeIdentity } from '#cmd/orch/process/identity.js';
import { type ProgressSink, type ServeMessage, step } from '#cmd/orch/progress.js';
import { type ClusterSettings, readSettings } from '#cmd/orch/settings.js';
import type { StartOptions } from '#cmd/orch/start-options.js';
import { createLogger } from '#daemon/log/create-logger.js';

export interface ServeHooks {
  readonly progress: ProgressSink;
  onReady(): Promise<void>;
}

/** Longest time from the API server's first answer until all nodes are Ready; ms. */
const nodesReadyMs = 120_000;

/** The background process: settings from the data directory, progress to the parent. */
export async function serve(argv: readonly string[]): Promise<number> {
  const start = JSON.parse(argv[0] ?? '') as StartOptions;
  const settings = readSettings(layoutOf(start.dataDir).settings);
  if (settings === undefined) throw new Error(`${start.dataDir} holds no cluster`);
  const tell = (message: ServeMessage) => {
    if (process.connected === true) process.send?.(message);
  };
  try {
    return await serveCluster(start, settings, {
      progress: tell,
      onReady: async () => {
        tell({ state: 'ready' });
      },
    });
  } catch (error) {
    tell({ state: 'error', message: error instanceof Error ? error.message : String(error) });
    throw error;
  }
}

/** Resolves with the exit code once the cluster has stopped. Rejects when it could not be started. */
export async function serveCluster(start: StartOptions, settings: ClusterSettings, hooks: ServeHooks): Promise<number> {
  const layout = layoutOf(start.dataDir);
  const dialect = dialectByName(settings.dialect);
  const log = createLogger({
    name: 'orch',
    format: 'text',
    verbosity: start.verbosity,
    pid: process.pid,
    now: () => realClock.now(),
    write: (line) => process.stderr.write(line),
  });
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      // The second signal does not wait.
      if (stop.signal.aborted) process.exit(1);
      stop.abort();
    });
  }
  const running: Closable[] = [];
  try {
    const context = { start, settings, layout, dialect, clock: realClock, log, progress: hooks.progress, running };
    // Before anything is started: whoever stops a cluster that is still starting must find it.
    mkdirSync(layout.run, { recursive: true, mode: 0o700 });
    writeIdentity(join(layout.run, 'orch.pid'), process.pid);
    const infrastructure = await startInfrastructure(context);
    // A process that only watches over others need not hold the daemons' code.
    const run = start.separate
      ? (await import('#cmd/orch/separate.js')).runSeparately
      : (await import('#cmd/orch/together.js')).runTogether;
    const cluster = await run(context, infrastructure);
    const patience = AbortSignal.any([stop.signal, AbortSignal.timeout(nodesReadyMs)]);
    const count = `${settings.nodes.length} of ${settings.nodes.length}`;
    await step(
      hooks.progress,
      'nodes Ready',
      () => untilNodesReady(cluster.client, settings.nodes, patience),
      () => count,
    );
    await untilPodsAreAdmitted(cluster.client, patience);
    await hooks.onReady();
    await Promise.race([cluster.failed, aborted(stop.signal)]);
    return 0;
  } finally {
    for (const part of running.reverse()) {
      await part.close().catch((error: unknown) => log.error({ err: error }, 'a part of the cluster did not stop'));
    }
    rmSync(join(layout.run, 'orch.pid'), { force: true });
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
