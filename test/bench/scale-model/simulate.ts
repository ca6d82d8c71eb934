/**
 * Simulates workers: requests arrive at random times, spread evenly over workers. Each change goes through etcd to every
 * worker, which notifies its watchers. For many watchers, changes that arrive during a notification and the rest after it
 * are batched. The work of a worker is not preempted.
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
  /** The time from a write to etcd's event, in ms. */
  readonly etcdMs?: number;
  /** The number of watchers that a worker notifies in one turn (`NotificationQueue`). */
  readonly watchersPerTurn?: number;
}

export interface Simulated {
  /** The utilization of the busiest worker; at 1 it falls behind. */
  readonly busiestWorker: number;
  /** The time from a request's arrival to the end of the worker's part, 50th and 99th percentile, in ms. */
  readonly servedP50Ms: number;
  readonly servedP99Ms: number;
  /** The time from etcd's event until the last watcher is notified, 99th percentile, in ms. */
  readonly notifiedP99Ms: number;
}

/** The maximum rest after notifying many watchers, which lasts as long as the notification. */
const maxRestMs = 10;

/** Watchers of one worker with the same events, more than fit into one turn. */
interface Crowd {
  readonly thread: number;
  readonly watchers: number;
  /** During a notification or the rest after it. */
  busy: boolean;
  /** The times of the pending events. */
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

  /** When the thread finishes the work that arrived at the time. */
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
  const notified: number[] = [];

  const crowds = new Map<string, Crowd>();
  /** Notifies the crowd of all pending events, in several turns. */
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
          for (const sinceMs of since) notified.push(doneMs - sinceMs);
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
  const notify = (thread: number, name: string, watchers: number, atMs: number) => {
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
      // Rotate the remainder over the workers.
      const share = Math.floor(watchers / workers) + ((i + first) % workers < watchers % workers ? 1 : 0);
      notify(i, name, share, sinceMs);
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
    notifiedP99Ms: percentile(notified, 0.99),
  };
}

/** `NaN` for an empty list. */
function percentile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? Number.NaN;
}
