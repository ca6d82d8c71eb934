/** Resources that the daemons of a cluster hold: processes, descriptors, memory, and their own gauges. */
import { readdirSync, readFileSync } from 'node:fs';
import { layoutOf } from '#cluster/config/layout.js';
import { runningProcesses } from '#cluster/process/identity.js';
import { eventually } from '#test/e2e/harness.js';

export interface Footprint {
  /** Start of each process, by the name of its identity file: another value is another process. */
  readonly processes: Readonly<Record<string, string>>;
  readonly descriptors: Readonly<Record<string, number>>;
  /** KiB of resident memory. */
  readonly residentKiB: Readonly<Record<string, number>>;
}

export async function footprintOf(dataDir: string): Promise<Footprint> {
  const processes: Record<string, string> = {};
  const descriptors: Record<string, number> = {};
  const residentKiB: Record<string, number> = {};
  for (const [name, { pid, startTicks }] of await runningProcesses(layoutOf(dataDir).run)) {
    processes[name] = `${pid}/${startTicks}`;
    descriptors[name] = readdirSync(`/proc/${pid}/fd`).length;
    residentKiB[name] = Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  }
  return { processes, descriptors, residentKiB };
}

/** Descriptors come and go with timers and connections of the daemons themselves. */
const slack = 6;

/** Resolves when no daemon holds more descriptors than before. On timeout throws with the held descriptors. */
export async function untilReleased(dataDir: string, before: Footprint, timeoutMs = 60_000): Promise<Footprint> {
  return eventually(
    'all descriptors are released',
    async () => {
      const now = await footprintOf(dataDir);
      const more = Object.entries(now.descriptors).filter(([name, n]) => n > (before.descriptors[name] ?? 0) + slack);
      if (more.length > 0) throw new Error(JSON.stringify({ before: before.descriptors, now: now.descriptors }));
      return now;
    },
    timeoutMs,
  );
}
