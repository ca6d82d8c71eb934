/** When backups are made by themselves, and which are kept: a file of the data directory, and pure decisions. */
import { readFileSync } from 'node:fs';
import type { BackupManifest } from '#cmd/orch/backup/contents.js';

export interface BackupPlan {
  readonly everyMs: number;
  /** How many are kept. */
  readonly keep: number;
  /** Folder in which they are made. */
  readonly to: string;
}

/** Undefined when there is none. Throws the file system's errors, and a SyntaxError for what is no plan. */
export function readPlan(file: string): BackupPlan | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
  const { everyMs, keep, to } = (JSON.parse(text) ?? {}) as Partial<BackupPlan>;
  if (typeof everyMs !== 'number' || typeof keep !== 'number' || typeof to !== 'string' || !(everyMs > 0 && keep > 0)) {
    throw new SyntaxError(`${file} is no schedule of backups`);
  }
  return { everyMs, keep, to };
}

export interface KeptBackup {
  readonly name: string;
  readonly manifest: Pick<BackupManifest, 'time' | 'cluster'>;
}

/** How long until the next is due, ms; 0: now. A clock that was set back does not put it off for longer than one period. */
export function dueInMs(plan: BackupPlan, backups: readonly KeptBackup[], now: number): number {
  const last = Math.max(...backups.map(({ manifest }) => Date.parse(manifest.time)), Number.NEGATIVE_INFINITY);
  return Math.min(Math.max(0, last + plan.everyMs - now), plan.everyMs);
}

/** Names of those that make way, of one cluster: all but the newest. Others may use the same folder. */
export function outdated(plan: BackupPlan, backups: readonly KeptBackup[], cluster: string): string[] {
  const own = backups.filter(({ manifest }) => manifest.cluster === cluster);
  const newestFirst = own.sort((a, b) => Date.parse(b.manifest.time) - Date.parse(a.manifest.time));
  return newestFirst.slice(plan.keep).map(({ name }) => name);
}
