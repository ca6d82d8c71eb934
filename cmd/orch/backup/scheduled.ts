/** Makes backups as the plan in the data directory says. The plan may come, change and go while the cluster runs. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '#apimachinery/clock.js';
import { backupsIn, readManifest } from '#cmd/orch/backup/contents.js';
import { type BackupPlan, dueInMs, type KeptBackup, outdated, readPlan } from '#cmd/orch/backup/plan.js';
import { clusterFingerprint, type SavedBackup } from '#cmd/orch/backup/save.js';
import type { Layout } from '#cmd/orch/context/layout.js';
import type { Logger } from '#daemon/log/logger.js';

export interface ScheduledBackupsOptions {
  readonly layout: Layout;
  readonly save: (to: string) => Promise<SavedBackup>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** How often the plan is read. */
const lookMs = 10_000;
/** After a failure; less where they are made more often. */
const againMs = 300_000;

export class ScheduledBackups {
  readonly #options: ScheduledBackupsOptions;
  /** Nothing is tried before this instant of the clock that is never set. */
  #notBefore = 0;

  constructor(options: ScheduledBackupsOptions) {
    this.#options = options;
  }

  /** Until the signal aborts; a backup that is being made by then is finished. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, layout, log } = this.#options;
    while (!signal.aborted) {
      try {
        const plan = readPlan(layout.backupPlan);
        if (plan !== undefined && clock.monotonic() >= this.#notBefore) await this.#look(plan);
      } catch (error) {
        log.error({ err: error }, 'backups cannot be scheduled');
        this.#notBefore = clock.monotonic() + againMs;
      }
      await clock.sleep(lookMs, signal);
    }
  }

  async #look(plan: BackupPlan): Promise<void> {
    const { clock, layout, log, save } = this.#options;
    if (dueInMs(plan, await ownBackups(layout, plan.to), clock.now()) > 0) return;
    try {
      const started = clock.monotonic();
      const { folder, bytes, objects } = await save(plan.to);
      log.info({ folder, bytes, objects, ms: Math.round(clock.monotonic() - started) }, 'made a backup');
    } catch (error) {
      this.#notBefore = clock.monotonic() + Math.min(againMs, plan.everyMs);
      log.error({ err: error, to: plan.to }, 'a backup could not be made, trying again later');
      return;
    }
    for (const { name } of outdated(plan, await ownBackups(layout, plan.to))) {
      await rm(join(plan.to, name), { recursive: true, force: true });
      log.info({ backup: name }, 'removed an old backup');
    }
  }
}

/** What a folder has of them; what cannot be read as one is none. */
export async function keptBackups(folder: string): Promise<KeptBackup[]> {
  const found: KeptBackup[] = [];
  for (const name of await backupsIn(folder)) {
    const manifest = await readManifest(join(folder, name)).catch(() => undefined);
    if (manifest !== undefined) found.push({ name, manifest });
  }
  return found;
}

/** Those of the cluster in a data directory: others may use the same folder. */
export async function ownBackups(layout: Layout, folder: string): Promise<KeptBackup[]> {
  const cluster = await clusterFingerprint(layout);
  return (await keptBackups(folder)).filter(({ manifest }) => manifest.cluster === cluster);
}
