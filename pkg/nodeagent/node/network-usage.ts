/** Counters of network interfaces, from `/proc/<pid>/net/dev` of a process's network namespace. */
import { readFile } from 'node:fs/promises';

export interface InterfaceUsage {
  readonly name: string;
  readonly received: Traffic;
  readonly transmitted: Traffic;
}

export interface Traffic {
  readonly bytes: number;
  readonly packets: number;
  readonly errors: number;
  readonly dropped: number;
}

/** `process`: a process ID, or `self`. Empty if the process is gone. */
export async function networkUsage(process: number | 'self'): Promise<InterfaceUsage[]> {
  try {
    return parseNetworkTable(await readFile(`/proc/${process}/net/dev`, 'utf8'));
  } catch {
    return [];
  }
}

/** Parses `/proc/PID/net/dev`; skips loopback and veth interfaces, as in 1.24. */
export function parseNetworkTable(text: string): InterfaceUsage[] {
  return text.split('\n').flatMap((line) => {
    const match = /^\s*([^\s:]+):\s*(.*)$/.exec(line);
    const name = match?.[1] ?? '';
    if (name === '' || name === 'lo' || /^(veth|docker)/.test(name)) return [];
    const numbers = (match?.[2] ?? '').split(/\s+/).map(Number);
    const traffic = (at: number): Traffic => {
      const [bytes = 0, packets = 0, errors = 0, dropped = 0] = numbers.slice(at);
      return { bytes, packets, errors, dropped };
    };
    return [{ name, received: traffic(0), transmitted: traffic(8) }];
  });
}
