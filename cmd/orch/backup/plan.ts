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
  readonly manifest: BackupManifest;
}

type Timed = { readonly manifest: Pick<BackupManifest, 'time'> };

/** How long until the next is due, ms; 0: now. A clock that was set back does not put it off for longer than one period. */
export function dueInMs(plan: BackupPlan, backups: readonly Timed[], now: number): number {
  const last = Math.max(...backups.map(({ manifest }) => Date.parse(manifest.time)), Number.NEGATIVE_INFINITY);
  return Math.min(Math.max(0, last + plan.everyMs - now), plan.everyMs);
}

/** Those of one cluster that make way: all but the newest. */
export function outdated<T extends Timed>(plan: BackupPlan, backups: readonly T[]): T[] {
  return backups.toSorted((a, b) => Date.parse(b.manifest.time) - Date.parse(a.manifest.time)).slice(plan.keep);
}
