/** What an agent uses while nothing happens but its probes. */
import { realClock as clock } from '#apimachinery/clock.js';
import { cpuMs, figure, megabytes, residentBytes } from '#test/bench/report.js';

export interface Limits {
  readonly cpu: string;
  readonly memory?: string;
}

/**
 * What starting pods left to do is not idling: half a minute later the runtime still collects what the start left behind,
 * several times, and that would be half of what is measured in a minute.
 */
export const settleMs = 60_000;

export async function measureIdle(pid: number, what: string, seconds: number, limits: Limits): Promise<void> {
  const before = cpuMs(pid);
  await clock.sleep(seconds * 1000);
  const used = cpuMs(pid) - before;
  figure(`${what}: share of one core`, `${(used / (seconds * 10)).toFixed(2)} %`, limits.cpu);
  figure(`${what}: resident memory`, megabytes(residentBytes(pid)), limits.memory);
}
