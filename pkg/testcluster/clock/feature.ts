/**
 * `/test/clock`: shows the cluster's clock and moves it.
 *
 *     POST {"advance": "24h"}                 by a duration
 *     POST {"set": "2030-01-01T00:00:00Z"}    to a time
 *     POST {"advance": "24h", "settle": false} without waiting for the work that timers start
 *
 * A move that takes long, or after which the cluster does not come to rest, ends early and tells what remains.
 */
import { type Clock, formatMicroTime, parseTime } from '#apimachinery/clock.js';
import { formatDuration } from '#apimachinery/duration.js';
import { badRequest } from '#apimachinery/errors/status.js';
import { ManualClock } from '#apimachinery/time/manual-clock.js';
import type { TestEndpoint } from '#testcluster/feature/feature.js';
import { durationOf, fieldsOf } from '#testcluster/feature/fields.js';
import { timeoutOf } from '#testcluster/settle/feature.js';
import type { Settled, Settling } from '#testcluster/settle/settle.js';

export interface ClockEndpointOptions {
  readonly clock: Clock;
  /** The process's time. */
  readonly process: Clock;
  readonly settling: Settling;
  /** Resolves after the events that are ready now: `setImmediate`. */
  readonly turn: () => Promise<void>;
}

/** JSON of the clock. */
export interface ClockState {
  /** RFC 3339. */
  readonly now: string;
  /** Whether it stands still until it is moved. */
  readonly manual: boolean;
  /** When the next timer would stop a move; absent without timers. */
  readonly next?: string;
  /** What is left of a move that ended early: a duration for the next request. */
  readonly remaining?: string;
  /** Stops of the move. */
  readonly stops?: number;
  /** Present after a move with `settle`. */
  readonly settled?: Settled;
}

export function clockEndpoint({ clock, process, settling, turn }: ClockEndpointOptions): TestEndpoint {
  let moving: Promise<unknown> = Promise.resolve();
  return {
    path: '/test/clock',
    methods: ['GET', 'POST'],
    async handle({ method, body, signal }) {
      if (method === 'GET') return stateOf(clock);
      if (!(clock instanceof ManualClock)) {
        throw badRequest("this cluster's clock runs by itself; start the cluster with --clock manual");
      }
      const move = moveOf(body, clock);
      // Moves of several clients follow each other.
      const before = moving;
      const moved = before.then(() => moveClock(clock, { ...move, process, settling, turn, signal }));
      moving = moved.catch(() => undefined);
      return moved;
    },
  };
}

function stateOf(clock: Clock): ClockState {
  const now = formatMicroTime(clock.now());
  if (!(clock instanceof ManualClock)) return { now, manual: false };
  const { nextStopMs } = clock;
  return {
    now,
    manual: true,
    ...(nextStopMs === undefined ? {} : { next: formatMicroTime(clock.now() + nextStopMs) }),
  };
}

/** A move ends early after this long of the process's time, well before the limit of requests. */
const longMoveMs = 20_000;

interface Move {
  readonly byMs: () => number;
  readonly settle: boolean;
  readonly timeoutMs: number;
}

/** Throws 400. */
function moveOf(body: unknown, clock: Clock): Move {
  const { advance, set, settle = true, timeout } = fieldsOf(body, ['advance', 'set', 'settle', 'timeout']);
  if ((advance === undefined) === (set === undefined)) throw badRequest('exactly one of advance and set is required');
  if (typeof settle !== 'boolean') throw badRequest('settle: must be true or false');
  const rest = { settle, timeoutMs: timeoutOf(timeout === undefined ? undefined : { timeout }) };
  if (advance !== undefined) {
    const ms = durationOf('advance', advance);
    return { ...rest, byMs: () => ms };
  }
  const atMs = typeof set === 'string' ? parseTime(set) : Number.NaN;
  if (Number.isNaN(atMs)) throw badRequest('set: must be a time such as 2030-01-01T00:00:00Z');
  const byMs = () => {
    if (atMs < clock.now()) throw badRequest(`set: the clock cannot go back from ${formatMicroTime(clock.now())}`);
    return atMs - clock.now();
  };
  return { ...rest, byMs };
}

/** Moves the clock from timer to timer. With `settle` the cluster comes to rest at each. */
async function moveClock(
  clock: ManualClock,
  {
    byMs,
    settle,
    timeoutMs,
    process,
    settling,
    turn,
    signal,
  }: Move & Omit<ClockEndpointOptions, 'clock'> & { signal: AbortSignal },
): Promise<ClockState> {
  let settled: Settled = { settled: true, unfinished: [] };
  const work = async () => {
    signal.throwIfAborted();
    if (!settle) await turn();
    else if (settled.settled) settled = await settling.settle(timeoutMs);
  };
  const ms = byMs();
  const endMs = clock.monotonic() + ms;
  const dueMs = process.monotonic() + longMoveMs;
  const stops = await clock.advance(ms, work, () => !settled.settled || process.monotonic() >= dueMs);
  const remainingMs = endMs - clock.monotonic();
  return {
    ...stateOf(clock),
    ...(remainingMs > 0 ? { remaining: formatDuration(remainingMs) } : {}),
    stops,
    ...(settle ? { settled } : {}),
  };
}
