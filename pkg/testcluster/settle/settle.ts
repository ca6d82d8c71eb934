/**
 * Waits until a cluster has nothing left to do at this time of its clock.
 *
 * All loops of a test cluster run in one process, so what they do moves with the event loop: promise jobs, immediates, file
 * operations, and pauses of at most a second. When several turns of the event loop in a row bring no request, no write and
 * no timer, and no part has anything ready, then whatever has begun waits for a later time of the clock.
 */
import type { Clock } from '#apimachinery/clock.js';
import type { ManualClock } from '#apimachinery/time/manual-clock.js';
import { type Parts, type Unfinished, unfinishedWork } from '#testcluster/settle/activity.js';
import type { OpenRequests } from '#testcluster/settle/requests.js';

export interface SettleOptions {
  readonly parts: Parts;
  readonly requests: OpenRequests;
  /** Counts the store's writes. */
  readonly writes: () => number;
  /** File operations that are under way. */
  readonly fileWork: () => number;
  /** Long work of the API server that waits for its turn of the event loop. */
  readonly waitingTurns: () => number;
  /** Waits for caches of a store outside of this process; false if they are behind after `dueMs`. */
  readonly cachesComplete: (dueMs: number) => Promise<boolean>;
  /** Absent: the cluster's clock is the process's. */
  readonly manual?: ManualClock | undefined;
  /** The process's time. */
  readonly process: Clock;
  /** Resolves after the events that are ready now: `setImmediate`. */
  readonly turn: () => Promise<void>;
}

export interface Settled {
  readonly settled: boolean;
  /** What is left to do; empty if settled. */
  readonly unfinished: readonly Unfinished[];
}

/** Turns of the event loop without a move after which nothing comes of itself any more. */
const quietTurns = 4;
/**
 * Turns of the event loop for each second of the deadline: on a busy machine the process may hardly run in that time, and the
 * deadline waits for it, up to `longestMs`.
 */
const turnsPerSecond = 100;
/** With a long move of the clock before it, below the limit of requests, which is a minute. */
const longestMs = 35_000;
/** Turns after which waiting leaves the processor to others. */
const busyTurns = 200;
const restMs = 1;
/** Rounds of ended pauses without a write after which the pauses count as waiting for a later time: polls, failing work. */
const idleRounds = 24;

interface Deadline {
  readonly dueMs: number;
  readonly latestMs: number;
  /** Turns that must have passed at `dueMs`. */
  turns: number;
}

export class Settling {
  readonly #options: SettleOptions;

  constructor(options: SettleOptions) {
    this.#options = options;
  }

  /** Resolves when nothing is left to do, or after `timeoutMs` of the process's time with what is. */
  async settle(timeoutMs: number): Promise<Settled> {
    const { process, manual, writes } = this.#options;
    const dueMs = process.monotonic() + timeoutMs;
    const deadline = {
      dueMs,
      latestMs: dueMs + Math.max(0, longestMs - timeoutMs),
      turns: (timeoutMs / 1000) * turnsPerSecond,
    };
    let rounds = 0;
    let writesBefore = writes();
    let left = 0;
    for (;;) {
      const unfinished = await this.#calm(deadline);
      if (unfinished.length > 0) return { settled: false, unfinished };
      const before = this.#moves();
      if (!(await this.#options.cachesComplete(dueMs))) return { settled: false, unfinished: this.#left() };
      if (this.#moves() !== before) continue;
      if (manual === undefined || manual.pendingPauses === 0) return { settled: true, unfinished };
      if (writes() !== writesBefore) rounds = 0;
      writesBefore = writes();
      if (left === 0) {
        rounds += 1;
        left = manual.pendingPauses;
      }
      if (rounds > idleRounds) return { settled: true, unfinished };
      left -= 1;
      manual.endPause();
    }
  }

  /** Resolves when nothing moves, or with what is left at that time. */
  async #calm(deadline: Deadline): Promise<readonly Unfinished[]> {
    const { process, turn } = this.#options;
    let before = this.#moves();
    let quiet = 0;
    for (let turns = 0; quiet < quietTurns; turns += 1) {
      await turn();
      if (turns > busyTurns) await process.sleep(restMs);
      const moves = this.#moves();
      quiet = moves === before && this.#isStill() ? quiet + 1 : 0;
      before = moves;
      deadline.turns -= 1;
      const now = process.monotonic();
      const isOver = now >= deadline.latestMs || (now >= deadline.dueMs && deadline.turns <= 0);
      if (quiet === 0 && isOver) return this.#left();
    }
    return [];
  }

  #moves(): string {
    const { requests, writes } = this.#options;
    return `${requests.moves} ${writes()}`;
  }

  #isStill(): boolean {
    const { parts, requests, fileWork, waitingTurns, manual } = this.#options;
    if (fileWork() > 0 || waitingTurns() > 0) return false;
    // A request may wait for a pause, which `settle` ends.
    if (requests.size > 0 && (manual === undefined || manual.pendingPauses === 0)) return false;
    return this.#work(parts).next().done === true;
  }

  #work(parts: Parts): Generator<Unfinished> {
    return unfinishedWork(parts, { held: this.#options.manual === undefined });
  }

  #left(): readonly Unfinished[] {
    const { parts, requests } = this.#options;
    const open = requests.list();
    const work = [...unfinishedWork(parts, { held: true })];
    const unfinished = open.length === 0 ? work : [...work, { name: 'requests', items: open }];
    return unfinished.length > 0 ? unfinished : [{ name: 'store', items: ['objects change all the time'] }];
  }
}
