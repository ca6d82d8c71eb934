/** Makes backups by the plan in the data directory, which may be created, changed and deleted while the cluster runs. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '#apimachinery/clock.js';
import { backupsIn, readManifest } from '#cluster/backup/contents.js';
import { type BackupPlan, dueInMs, outdated, readPlan, type StoredBackup } from '#cluster/backup/plan.js';
import { clusterFingerprint, type SavedBackup } from '#cluster/backup/save.js';
import type { Layout } from '#cluster/config/layout.js';
import type { Logger } from '#daemon/log/logger.js';

export interface ScheduledBackupsOptions {
  readonly layout: Layout;
  readonly save: (to: string) => Promise<SavedBackup>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Interval in which the plan is read. */
const lookMs = 10_000;
/** Pause after a failure, at most one period of the plan. */
const retryMs = 300_000;

export class ScheduledBackups {
  readonly #options: ScheduledBackupsOptions;
  /** Earliest time of the next attempt, on the monotonic clock. */
  #notBefore = 0;

  constructor(options: ScheduledBackupsOptions) {
    this.#options = options;
  }

  /** Runs until the signal aborts, and finishes a backup under way. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, layout, log } = this.#options;
    while (!signal.aborted) {
      try {
        const plan = readPlan(layout.backupPlan);
        if (plan !== undefined && clock.monotonic() >= this.#notBefore) await this.#look(plan);
      } catch (error) {
        log.error({ err: error }, 'cannot schedule backups');
        this.#notBefore = clock.monotonic() + retryMs;
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
      this.#notBefore = clock.monotonic() + Math.min(retryMs, plan.everyMs);
      log.error({ err: error, to: plan.to }, 'cannot make a backup; will retry');
      return;
    }
    for (const { name } of outdated(plan, await ownBackups(layout, plan.to))) {
      await rm(join(plan.to, name), { recursive: true, force: true });
      log.info({ backup: name }, 'removed an old backup');
    }
  }
}

/** Readable backups of a folder, oldest first. */
export async function listBackups(folder: string): Promise<StoredBackup[]> {
  const backups: StoredBackup[] = [];
  for (const name of await backupsIn(folder)) {
    const manifest = await readManifest(join(folder, name)).catch(() => undefined);
    if (manifest !== undefined) backups.push({ name, manifest });
  }
  return backups;
}

/** Backups of the cluster in a data directory: other clusters may use the same folder. */
export async function ownBackups(layout: Layout, folder: string): Promise<StoredBackup[]> {
  const cluster = await clusterFingerprint(layout);
  return (await listBackups(folder)).filter(({ manifest }) => manifest.cluster === cluster);
}
