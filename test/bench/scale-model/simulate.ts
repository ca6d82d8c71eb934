/**
 * By simulation: requests come at random moments to workers, whose connections are spread evenly; each change goes through
 * etcd to the one following thread, and from there to every worker, which tells its watchers. What a thread does is not
 * interrupted: all else waits for it.
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
  /** A worker tells so many watchers before it lets others have their turn. */
  readonly watchersPerTurn?: number;
}

export interface Simulated {
  /** Part of the time that the busiest worker was busy; 1 and more: it falls behind. */
  readonly busiestWorker: number;
  readonly follower: number;
  /** From a request's coming until the worker has done its part, 50 and 99 of 100; ms. */
  readonly servedP50Ms: number;
  readonly servedP99Ms: number;
  /** From etcd's word of a change until the last watcher is told, 99 of 100; ms. */
  readonly toldP99Ms: number;
}

interface Task {
  readonly id: number;
  readonly atMs: number;
  /** -1: the following thread. */
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
  const { activities, costs, workers, seconds, random, etcdMs = 2, watchersPerTurn = 25 } = options;
  const threads = Array.from({ length: workers }, () => new Thread());
  const follower = new Thread();
  const endMs = seconds * 1000;
  const tasks = new KeyedHeap<Task, number>({ keyOf: ({ id }) => id, before: (a, b) => a.atMs < b.atMs });
  let ids = 0;
  const add = (task: Omit<Task, 'id'>) => tasks.push({ ...task, id: ids++ });
  const served: number[] = [];
  const told: number[] = [];

  const tell = (thread: number, watchers: number, atMs: number, sinceMs: number, extraMs: number) => {
    const now = Math.min(watchers, watchersPerTurn);
    const workMs = extraMs + now * costs.watchEvent;
    add({
      atMs,
      thread,
      workMs,
      done(doneMs) {
        if (watchers > now) tell(thread, watchers - now, doneMs, sinceMs, 0);
        else told.push(doneMs - sinceMs);
      },
    });
  };
  const changed = (watchers: number, sinceMs: number) => {
    add({
      atMs: sinceMs,
      thread: -1,
      workMs: costs.follow,
      done(doneMs) {
        const first = Math.floor(random() * workers);
        for (let i = 0; i < workers; i++) {
          // What does not divide evenly is of some workers, each time others.
          const share = Math.floor(watchers / workers) + ((i + first) % workers < watchers % workers ? 1 : 0);
          tell(i, share, doneMs, sinceMs, costs.notice);
        }
      },
    });
  };
  for (const { changes, perSecond, serveMs, watchers } of activities) {
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
          if (changes === 1) changed(watchers, doneMs + etcdMs);
        },
      });
    }
  }
  for (let task = tasks.pop(); task !== undefined && task.atMs < endMs; task = tasks.pop()) {
    task.done((threads[task.thread] ?? follower).take(task.atMs, task.workMs));
  }
  return {
    busiestWorker: Math.max(...threads.map(({ busyMs }) => busyMs)) / endMs,
    follower: follower.busyMs / endMs,
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
