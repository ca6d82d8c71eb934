/**
 * CPU per operation of several servers, measured in turns so that a disturbance affects all, in rounds that may be
 * discarded.
 */
import type { RunningServer } from '#test/bench/access/servers.js';
import type { Judged } from '#test/bench/machine/machine.js';
import { treeCpuMs } from '#test/bench/machine/proc.js';
import { keepsPace, median, type Starvation } from '#test/bench/machine/starvation.js';

export interface Work {
  readonly server: RunningServer;
  /** Operations per round. */
  readonly operations: number;
  /** Concurrent operations. */
  readonly concurrency?: number;
  /** `n` increases through all rounds. */
  readonly operation: (n: number) => Promise<unknown>;
  /** Runs after each round, unmeasured. */
  readonly tidy?: () => Promise<unknown>;
}

/** Decides whether a measurement counts. */
export interface Judge {
  judge<T>(work: () => Promise<T>): Promise<Judged<T>>;
}

export interface RoundsOptions {
  readonly judge: Judge;
  /** Number of rounds that should count. */
  readonly rounds: number;
  /** Limit of discarded rounds, as a multiple of `rounds`. */
  readonly repeats: number;
  /** Warm-up rounds; default 12. */
  readonly warmUpRounds?: number;
}

export interface Rounds<T> {
  /** Of the rounds that count; of all if `starved`. */
  readonly values: readonly T[];
  readonly discarded: readonly Starvation[];
  /** Usual pace of the cores relative to an idle machine; undefined if rounds are too short. */
  readonly pace: number | undefined;
  /** Fewer than half of the rounds count: the figures are only a hint. */
  readonly starved: boolean;
}

/** Runs `work` until enough rounds count; `round` starts at 0 and includes discarded ones. */
export async function inRounds<T>(
  { judge, rounds, repeats }: RoundsOptions,
  work: (round: number) => Promise<T>,
): Promise<Rounds<T>> {
  const all: Judged<T>[] = [];
  for (;;) {
    all.push(await judge.judge(() => work(all.length)));
    const counts = counting(all);
    if (counts.values.length < rounds && counts.discarded.length <= rounds * repeats) continue;
    const starved = counts.values.length < rounds / 2;
    return { ...counts, values: starved ? all.map(({ value }) => value) : counts.values, starved };
  }
}

/** Rounds that count; the pace of a row is known only from all its rounds. */
function counting<T>(all: readonly Judged<T>[]): Omit<Rounds<T>, 'starved'> {
  const usual = median(all.flatMap(({ starved, pace }) => (starved === undefined && pace !== undefined ? [pace] : [])));
  const values: T[] = [];
  const discarded: Starvation[] = [];
  for (const { value, starved, pace } of all) {
    const why = starved ?? (keepsPace(pace, usual) ? undefined : 'slow cores');
    if (why === undefined) values.push(value);
    else discarded.push(why);
  }
  return { values, discarded, pace: Number.isNaN(usual) ? undefined : usual };
}

/** CPU ms per operation. */
export interface Cost {
  readonly server: number;
  readonly etcd: number;
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

function cpu({ pid, etcd }: RunningServer): Cost {
  return { server: treeCpuMs(pid), etcd: etcd.pid === undefined ? 0 : treeCpuMs(etcd.pid) };
}

async function cost(work: Work, from: number): Promise<Cost> {
  const before = cpu(work.server);
  await spread(work, from);
  const after = cpu(work.server);
  const of = (figure: 'server' | 'etcd') => (after[figure] - before[figure]) / work.operations;
  return { server: of('server'), etcd: of('etcd') };
}

/**
 * Operations before the measurement, so that code is compiled: V8 compiles through the first 5,000 creates (measured by
 * `firstCreatesRows`).
 */
const defaultWarmUpRounds = 12;

export interface Costs extends Omit<Rounds<unknown>, 'values'> {
  /** Means, in the order of the works. */
  readonly costs: readonly Cost[];
}

/**
 * Means of each work. Not medians: if garbage collection falls into every second round, a median would randomly include
 * or exclude it.
 */
export function means({ values, ...rest }: Rounds<readonly Cost[]>): Costs {
  const [first = []] = values;
  const of = (i: number, figure: 'server' | 'etcd') =>
    values.reduce((sum, costs) => sum + (costs[i]?.[figure] ?? Number.NaN), 0) / values.length;
  return { ...rest, costs: first.map((_, i) => ({ server: of(i, 'server'), etcd: of(i, 'etcd') })) };
}

export async function costPerOperation(works: readonly Work[], options: RoundsOptions): Promise<Costs> {
  const once = async (round: number): Promise<Cost[]> => {
    const costs: Cost[] = [];
    for (const work of works) {
      costs.push(await cost(work, round * work.operations));
      await work.tidy?.();
    }
    return costs;
  };
  const { warmUpRounds = defaultWarmUpRounds } = options;
  for (let round = 0; round < warmUpRounds; round++) await once(round);
  return means(await inRounds(options, (round) => once(warmUpRounds + round)));
}

/**
 * Means from the first operation on: after each number of operations in `until`, in the order of `works`. The servers
 * take turns after every `chunk`, which divides all of `until`.
 */
export async function costFromFirst(
  works: readonly Omit<Work, 'operations'>[],
  chunk: number,
  until: readonly number[],
): Promise<Cost[][]> {
  const sums = works.map(() => ({ server: 0, etcd: 0 }));
  const costs: Cost[][] = [];
  for (let from = 0; from < Math.max(...until); from += chunk) {
    for (const [i, work] of works.entries()) {
      const { server, etcd } = await cost({ ...work, operations: chunk }, from);
      const sum = sums[i] ?? { server: 0, etcd: 0 };
      sums[i] = { server: sum.server + server * chunk, etcd: sum.etcd + etcd * chunk };
    }
    const done = from + chunk;
    if (until.includes(done))
      costs.push(sums.map(({ server, etcd }) => ({ server: server / done, etcd: etcd / done })));
  }
  return costs;
}
