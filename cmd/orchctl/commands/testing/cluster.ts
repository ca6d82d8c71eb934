/** The API of test clusters, as far as commands use it. */
import type { Api } from '#cmd/orchctl/api/api.js';

/** A part of the cluster, and what it still has to do. */
interface Unfinished {
  readonly name: string;
  readonly items: readonly string[];
}

export interface Settled {
  readonly settled: boolean;
  readonly unfinished: readonly Unfinished[];
}

export interface TestClock {
  readonly now: string;
  readonly manual: boolean;
  readonly next?: string;
  /** What is left of a long move, as a duration. */
  readonly remaining?: string;
  readonly settled?: Settled;
}

/** The body of a move: `advance` or `set`. */
export interface Move {
  readonly advance?: string;
  readonly set?: string;
  readonly settle: boolean;
  readonly timeout: string;
}

/** Moves the clock; a long move takes several requests. */
export async function moveClock(api: Api, move: Move): Promise<TestClock> {
  let state = await api.json<TestClock>('POST', '/test/clock', move);
  const { settle, timeout } = move;
  while (state.remaining !== undefined && state.settled?.settled !== false) {
    state = await api.json<TestClock>('POST', '/test/clock', { advance: state.remaining, settle, timeout });
  }
  return state;
}

/** A line for each part. */
export function shownUnfinished(unfinished: readonly Unfinished[]): string {
  return unfinished.map(({ name, items }) => `  ${name}: ${items.join(', ')}`).join('\n');
}
