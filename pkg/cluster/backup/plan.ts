/** The schedule of backups: its file in the data directory, and pure functions that apply it. */
import { readFileSync } from 'node:fs';
import type { BackupManifest } from '#cluster/backup/contents.js';

export interface BackupPlan {
  readonly everyMs: number;
  /** Number of backups to keep. */
  readonly keep: number;
  /** Folder of the backups. */
  readonly to: string;
}

/** Undefined for a missing file. Throws the file system's errors, and a SyntaxError for a malformed file. */
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
    throw new SyntaxError(`${file} is no schedule of backups; write it with: orch backup schedule`);
  }
  return { everyMs, keep, to };
}

export interface StoredBackup {
  readonly name: string;
  readonly manifest: BackupManifest;
}

type Timed = { readonly manifest: Pick<BackupManifest, 'time'> };

/** Time until the next backup, ms; 0: now. At most one period, even when the clock was set back. */
export function dueInMs(plan: BackupPlan, backups: readonly Timed[], now: number): number {
  const last = Math.max(...backups.map(({ manifest }) => Date.parse(manifest.time)), Number.NEGATIVE_INFINITY);
  return Math.min(Math.max(0, last + plan.everyMs - now), plan.everyMs);
}

/** The backups of a cluster to delete: all but the newest. */
export function outdated<T extends Timed>(plan: BackupPlan, backups: readonly T[]): T[] {
  return backups.toSorted((a, b) => Date.parse(b.manifest.time) - Date.parse(a.manifest.time)).slice(plan.keep);
}
