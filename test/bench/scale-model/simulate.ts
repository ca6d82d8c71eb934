/**
 * By simulation: requests come at random moments to workers, whose connections are spread evenly; each change goes through
 * etcd to every worker, which tells its watchers. Where those are many, what happens while they are being told, and during
 * the rest behind that, is told to them together. What a worker does is not interrupted: all else waits for it.
 */
import { KeyedHeap } from '#apimachinery/collections/keyed-heap.js';
import type { Costs } from '#test/bench/scale-model/costs.js';
import type { Activity } from '#test/bench/scale-model/load.js';

export interface SimulationOptions {
  readonly activities: readonly Activity[];
  readonly costs: Costs;
  readonly workers: number;
  readonly seconds: number;
  /** Returns [0, 1). */
  readonly random: () => number;
  /** From a write's request to etcd to etcd's word of it; ms. */
  readonly etcdMs?: number;
  /** A worker tells so many watchers before it lets others have their turn (`NotificationQueue`). */
  readonly watchersPerTurn?: number;
}

export interface Simulated {
  /** Part of the time that the busiest worker was busy; 1 and more: it falls behind. */
  readonly busiestWorker: number;
  /** From a request's coming until the worker has done its part, 50 and 99 of 100; ms. */
  readonly servedP50Ms: number;
  readonly servedP99Ms: number;
  /** From etcd's word of a change until the last watcher is told, 99 of 100; ms. */
  readonly toldP99Ms: number;
}

/** A worker rests behind telling many, as long as that took, but no longer. */
const maxRestMs = 10;

/** The watchers of one worker that are told the same, more than in one turn. */
interface Crowd {
  readonly thread: number;
  readonly watchers: number;
  /** They are being told something, or rest. */
  busy: boolean;
  /** When what waits for them happened. */
  waiting: number[];
}

interface Task {
  readonly id: number;
  readonly atMs: number;
  readonly thread: number;
  readonly workMs: number;
  readonly done: (endMs: number) => void;
}

class Thread {
  freeAtMs = 0;
  busyMs = 0;

  /** When it is done with what came at that time. */
  take(atMs: number, workMs: number): number {
    this.freeAtMs = Math.max(atMs, this.freeAtMs) + workMs;
    this.busyMs += workMs;
    return this.freeAtMs;
  }
}

export function simulate(options: SimulationOptions): Simulated {
  const { activities, costs, workers, seconds, random, etcdMs = 2, watchersPerTurn = 64 } = options;
  const threads = Array.from({ length: workers }, () => new Thread());
  const endMs = seconds * 1000;
  const tasks = new KeyedHeap<Task, number>({ keyOf: ({ id }) => id, before: (a, b) => a.atMs < b.atMs });
  let ids = 0;
  const add = (task: Omit<Task, 'id'>) => tasks.push({ ...task, id: ids++ });
  const served: number[] = [];
  const told: number[] = [];

  const crowds = new Map<string, Crowd>();
  /** Tells the crowd all that waits for it, in as many turns as that takes. */
  const begin = (crowd: Crowd, atMs: number, extraMs: number) => {
    const since = crowd.waiting;
    crowd.waiting = [];
    crowd.busy = true;
    const each = costs.watchEvent + (since.length - 1) * costs.joinedEvent;
    let startMs: number | undefined;
    const turn = (left: number, turnAtMs: number, moreMs: number) => {
      const now = Math.min(left, watchersPerTurn);
      add({
        atMs: turnAtMs,
        thread: crowd.thread,
        workMs: moreMs + now * each,
        done(doneMs) {
          if (left > now) {
            startMs ??= doneMs;
            turn(left - now, doneMs, 0);
            return;
          }
          for (const sinceMs of since) told.push(doneMs - sinceMs);
          const restMs = startMs === undefined ? 0 : Math.min(maxRestMs, doneMs - startMs);
          const rested = () => {
            crowd.busy = false;
            if (crowd.waiting.length > 0) begin(crowd, doneMs + restMs, 0);
          };
          add({ atMs: doneMs + restMs, thread: crowd.thread, workMs: 0, done: rested });
        },
      });
    };
    turn(crowd.watchers, atMs, extraMs);
  };
  const tell = (thread: number, name: string, watchers: number, atMs: number) => {
    const key = `${thread} ${name}`;
    const many = watchers > watchersPerTurn;
    const crowd = (many ? crowds.get(key) : undefined) ?? { thread, watchers, busy: false, waiting: [] };
    if (many) crowds.set(key, crowd);
    crowd.waiting.push(atMs);
    if (crowd.busy) add({ atMs, thread, workMs: costs.follow, done: () => undefined });
    else begin(crowd, atMs, costs.follow);
  };
  const changed = ({ name, watchers }: Activity, sinceMs: number) => {
    const first = Math.floor(random() * workers);
    for (let i = 0; i < workers; i++) {
      // What does not divide evenly is of some workers, each time others.
      const share = Math.floor(watchers / workers) + ((i + first) % workers < watchers % workers ? 1 : 0);
      tell(i, name, share, sinceMs);
    }
  };
  for (const activity of activities) {
    const { changes, perSecond, serveMs } = activity;
    if (perSecond <= 0) continue;
    const next = (atMs: number) => atMs - (Math.log(1 - random()) * 1000) / perSecond;
    for (let atMs = next(0); atMs < endMs; atMs = next(atMs)) {
      const cameMs = atMs;
      add({
        atMs,
        thread: Math.floor(random() * workers),
        workMs: serveMs,
        done(doneMs) {
          served.push(doneMs - cameMs);
          if (changes === 1) changed(activity, doneMs + etcdMs);
        },
      });
    }
  }
  for (let task = tasks.pop(); task !== undefined && task.atMs < endMs; task = tasks.pop()) {
    task.done((threads[task.thread] as Thread).take(task.atMs, task.workMs));
  }
  return {
    busiestWorker: Math.max(...threads.map(({ busyMs }) => busyMs)) / endMs,
    servedP50Ms: percentile(served, 0.5),
    servedP99Ms: percentile(served, 0.99),
    toldP99Ms: percentile(told, 0.99),
  };
}

/** `NaN` of none. */
function percentile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? Number.NaN;
}
