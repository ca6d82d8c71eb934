/** CPU per operation of several servers, measured by turns so that what disturbs one disturbs all, and their ratio. */
import type { RunningServer } from '#test/bench/access/servers.js';
import { cpuMs } from '#test/bench/report.js';

export interface Work {
  readonly server: RunningServer;
  /** Operations of one round. */
  readonly operations: number;
  /** How many at once. */
  readonly concurrency?: number;
  /** `n` counts up through all rounds. */
  readonly operation: (n: number) => Promise<unknown>;
  /** After each round, not measured. */
  readonly tidy?: () => Promise<unknown>;
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}

/** Runs `operation` for `from` ≤ n < `from + operations`. */
export async function spread(work: Work, from: number): Promise<void> {
  const { operations, concurrency = 1, operation } = work;
  let next = from;
  const worker = async () => {
    for (let n = next++; n < from + operations; n = next++) await operation(n);
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, operations) }, worker));
}

/** Rounds before those that count: what is measured is a server that has been at work for a while, compiled code and all. */
const warmUpRounds = 4;

/** Medians in ms of CPU per operation, in the order of `works`. */
export async function cpuPerOperation(works: readonly Work[], rounds: number): Promise<number[]> {
  const figures = works.map((): number[] => []);
  for (let round = 0; round < warmUpRounds + rounds; round++) {
    for (const [i, work] of works.entries()) {
      const before = cpuMs(work.server.pid);
      await spread(work, round * work.operations);
      const used = cpuMs(work.server.pid) - before;
      if (round >= warmUpRounds) figures[i]?.push(used / work.operations);
      await work.tidy?.();
    }
  }
  return figures.map(median);
}

const chunks = 12;

/** Means in ms of CPU per operation, from the first one on, in the order of `works`. */
export async function cpuInAll(works: readonly Work[]): Promise<number[]> {
  const used = works.map(() => 0);
  for (let chunk = 0; chunk < chunks; chunk++) {
    for (const [i, work] of works.entries()) {
      const operations = work.operations / chunks;
      const before = cpuMs(work.server.pid);
      await spread({ ...work, operations }, chunk * operations);
      used[i] = (used[i] ?? 0) + cpuMs(work.server.pid) - before;
    }
  }
  return works.map(({ operations }, i) => (used[i] ?? 0) / operations);
}

/** `0.123 ms` with three digits that mean something. */
export function ms(value: number): string {
  if (value >= 100) return `${value.toFixed(0)} ms`;
  return `${value.toPrecision(3)} ms`;
}
