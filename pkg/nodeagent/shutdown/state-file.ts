/** The times of the last graceful shutdown, in the file and format of 1.24. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { formatMicroTime, parseTime } from '#apimachinery/clock.js';
import { writeFileAtomic } from '#pki/file-store.js';

export interface ShutdownTimes {
  /** ms since the epoch; absent: there was none. */
  readonly startMs?: number;
  /** Absent: it has not ended. */
  readonly endMs?: number;
}

export interface ShutdownState {
  /** Throws for an unreadable or invalid file; a missing one has no times. */
  load(): Promise<ShutdownTimes>;
  store(times: ShutdownTimes): Promise<void>;
}

/** The form of an unset time. */
const zeroTime = '0001-01-01T00:00:00Z';

/** `directory`: that of the agent's files. */
export function shutdownStateFile(directory: string): ShutdownState {
  const path = join(directory, 'graceful_node_shutdown_state');
  return {
    async load() {
      let text: string;
      try {
        text = await readFile(path, 'utf8');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
        throw error;
      }
      return timesOf(JSON.parse(text));
    },
    async store({ startMs, endMs }) {
      const written = (ms: number | undefined) => (ms === undefined ? zeroTime : formatMicroTime(ms));
      // Synced, because the machine is about to lose power.
      const text = JSON.stringify({ startTime: written(startMs), endTime: written(endMs) });
      await writeFileAtomic(path, text, 0o644);
    },
  };
}

function timesOf(state: unknown): ShutdownTimes {
  const fields = typeof state === 'object' && state !== null ? (state as Readonly<Record<string, unknown>>) : {};
  const timeOf = (name: string): number | undefined => {
    const text = fields[name];
    if (text === undefined) return undefined;
    const ms = typeof text === 'string' ? parseTime(text) : Number.NaN;
    if (Number.isNaN(ms)) throw new Error(`${name} is not a time`);
    return ms < 0 ? undefined : ms;
  };
  const [startMs, endMs] = [timeOf('startTime'), timeOf('endTime')];
  return { ...(startMs === undefined ? {} : { startMs }), ...(endMs === undefined ? {} : { endMs }) };
}
