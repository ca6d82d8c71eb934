/** Sets of processors, and their text as the kernel writes it: `0-3,8`. Pure. */
import { quoted } from '#apimachinery/errors/message-values.js';

/** IDs of processors. */
export type CPUSet = ReadonlySet<number>;

export function union(...sets: readonly CPUSet[]): CPUSet {
  return new Set(sets.flatMap((set) => [...set]));
}

export function difference(a: CPUSet, b: CPUSet): CPUSet {
  return new Set([...a].filter((cpu) => !b.has(cpu)));
}

export function intersection(a: CPUSet, b: CPUSet): CPUSet {
  return new Set([...a].filter((cpu) => b.has(cpu)));
}

export function isSubset(a: CPUSet, b: CPUSet): boolean {
  return [...a].every((cpu) => b.has(cpu));
}

/** Ascending, with ranges; empty for none. */
export function formatCPUs(cpus: CPUSet): string {
  const ranges: [number, number][] = [];
  for (const cpu of [...cpus].sort((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last !== undefined && cpu === last[1] + 1) last[1] = cpu;
    else ranges.push([cpu, cpu]);
  }
  return ranges.map(([from, to]) => (from === to ? String(from) : `${from}-${to}`)).join(',');
}

/** No machine has more processors; the text may come from a damaged file. */
const maxCPU = 65_535;

/** Throws Error with the words of 1.24. */
export function parseCPUs(text: string): CPUSet {
  const cpus = new Set<number>();
  if (text === '') return cpus;
  for (const range of text.split(',')) {
    const dash = range.indexOf('-');
    const from = parseCPU(dash === -1 ? range : range.slice(0, dash));
    const to = dash === -1 ? from : parseCPU(range.slice(dash + 1));
    if (from > to) throw new Error(`invalid range ${quoted(range)} (${from} >= ${to})`);
    for (let cpu = from; cpu <= to; cpu++) cpus.add(cpu);
  }
  return cpus;
}

function parseCPU(text: string): number {
  const number = Number(text);
  if (!/^\d+$/.test(text)) throw new Error(`strconv.Atoi: parsing ${quoted(text)}: invalid syntax`);
  if (number > maxCPU) throw new Error(`strconv.Atoi: parsing ${quoted(text)}: value out of range`);
  return number;
}
