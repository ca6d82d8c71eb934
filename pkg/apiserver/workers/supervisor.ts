/**
 * An API server of several processes. Each worker is a complete API server with its own cache, and all workers accept
 * connections from one socket. The supervisor serves no requests: it starts the workers, replaces those that die or whose
 * event loop is stuck, and merges their metrics.
 *
 * The first worker starts alone, so that the cluster's own objects are created once, and option errors are reported once.
 */

import type { Registry } from 'prom-client';
import { deferred } from '#apimachinery/async/deferred.js';
import { exponentialDelayMs } from '#apimachinery/backoff/backoff.js';
import type { Clock } from '#apimachinery/clock.js';
import { Liveness } from '#apiserver/workers/liveness.js';
import { aggregate, metricsOf, withoutGauges } from '#apiserver/workers/merged-metrics.js';
import type { FromWorker, MetricData, ToWorker, WorkerPlace } from '#apiserver/workers/messages.js';
import type { Daemon } from '#daemon/daemon.js';
import type { Logger } from '#daemon/log/logger.js';
import { counter, gauge } from '#daemon/metrics/metric.js';

/** A worker process, as its supervisor sees it. */
export interface WorkerProcess {
  readonly pid: number;
  /** A message to a process that has ended is dropped. */
  send(message: ToWorker): void;
  onMessage(listener: (message: FromWorker) => void): void;
  /** Registers the listener, which is called once. `code` is null after a signal. */
  onExit(listener: (code: number | null) => void): void;
  /** Kills the process at once. */
  kill(): void;
}

/** Starts a worker process. */
export type SpawnWorker = (place: WorkerPlace) => WorkerProcess;

export interface WorkerSupervisorOptions {
  readonly name: string;
  readonly count: number;
  readonly spawn: SpawnWorker;
  /** Time for the last requests to end after `stop`. */
  readonly shutdownMs: number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Registry;
  /** The supervisor's log level; clients may change it. */
  readonly verbosity: { level: number };
}

type EndReason = 'held' | 'died';

interface Running {
  readonly index: number;
  readonly worker: WorkerProcess;
  readonly exited: Promise<void>;
  /** Monotonic. */
  readonly startedMs: number;
  /** Count of heartbeats; undefined before the first one. */
  beats: number | undefined;
  serving: boolean;
  stuck: boolean;
  metrics: readonly MetricData[];
}

/**
 * A worker whose event loop is stuck for this long is replaced. Longer than any request should take; shorter than the 10 s in
 * which leaders must renew their leases, as their connections may be on this worker.
 */
const stuckMs = 5000;
const checkMs = 500;
/** A replacement that has not sent its first heartbeat after this long hangs; on a busy machine a start takes half a minute. */
const firstBeatMs = 120_000;
/** Time limit of collecting metrics; a worker that misses it contributes its last reported ones. */
const gatherMs = 1000;
const retryMs = 100;
const retryMaxMs = 10_000;
/** A worker that ran for this long started successfully; its restart is not delayed. */
const stableMs = 30_000;

export class WorkerSupervisor implements Daemon {
  readonly name: string;
  readonly #options: WorkerSupervisorOptions;
  readonly #running = new Map<number, Running>();
  readonly #liveness = new Liveness({ stuckMs, periodMs: checkMs });
  readonly #closing = new AbortController();
  readonly #ready = deferred();
  readonly #restarts;
  /** Counters of workers that have ended. */
  #endedMetrics: (readonly MetricData[])[] = [];
  /** Consecutive failed starts, by the worker's index. */
  readonly #attempts = new Map<number, number>();
  readonly #gathering = new Map<number, (metrics: readonly MetricData[]) => void>();
  #nextGathering = 1;
  #hasServed = false;
  #closed: Promise<void> | undefined;

  constructor(options: WorkerSupervisorOptions) {
    this.#options = options;
    this.name = options.name;
    const { metrics } = options;
    const serving = () => [...this.#running.values()].filter((running) => running.serving).length;
    gauge(metrics, {
      name: 'apiserver_workers',
      help: 'Processes that serve requests.',
      collect() {
        this.set(serving());
      },
    });
    this.#restarts = counter(metrics, {
      name: 'apiserver_worker_restarts_total',
      help: 'Workers that were replaced, by the reason: held (event loop stuck for too long) or died.',
      labelNames: ['reason'],
    });
    for (const reason of ['held', 'died']) this.#restarts.inc({ reason }, 0);
    // `start` reports a failure.
    this.#ready.promise.catch(() => undefined);
  }

  async start(signal: AbortSignal): Promise<void> {
    const stop = () => void this.close();
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    try {
      if (!this.#closing.signal.aborted) this.#start(0);
      await this.#supervise();
    } finally {
      signal.removeEventListener('abort', stop);
      await this.close();
    }
    // Rejects if the first worker could not start; its log says why.
    await this.#ready.promise;
  }

  ready(): Promise<void> {
    return this.#ready.promise;
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const { clock, log, shutdownMs } = this.#options;
    this.#closing.abort();
    const running = [...this.#running.values()];
    for (const { worker } of running) worker.send({ type: 'stop' });
    const ended = new AbortController();
    const all = Promise.all(running.map(({ exited }) => exited)).then(() => ended.abort());
    await clock.sleep(shutdownMs, ended.signal);
    for (const { worker, index } of this.#running.values()) {
      log.warn({ worker: index, pid: worker.pid }, 'worker does not end, killing it');
      worker.kill();
    }
    await all;
    if (!this.#hasServed) this.#ready.reject(new Error('closed before it was ready'));
  }

  #start(index: number): void {
    const { spawn, count: workers, clock } = this.#options;
    const worker = spawn({ index, workers, othersServe: this.#hasServed });
    const startedMs = clock.monotonic();
    const exited = deferred();
    const running: Running = {
      index,
      worker,
      exited: exited.promise,
      startedMs,
      beats: undefined,
      serving: false,
      stuck: false,
      metrics: [],
    };
    this.#running.set(index, running);
    worker.onExit((code) => {
      this.#ended(running, code, clock.monotonic() - startedMs);
      exited.resolve();
    });
    worker.onMessage((message) => this.#hear(running, message, startedMs));
  }

  #hear(running: Running, message: FromWorker, startedMs: number): void {
    switch (message.type) {
      case 'beat':
        running.beats = (running.beats ?? 0) + 1;
        break;
      case 'serving':
        this.#markServing(running, startedMs);
        break;
      case 'metrics':
        running.metrics = message.metrics;
        this.#gathering.get(message.id)?.(message.metrics);
        break;
      case 'gather':
        void this.#answerGather(running, message.id);
        break;
      case 'verbosity':
        this.#options.verbosity.level = message.level;
        for (const other of this.#running.values()) if (other !== running) other.worker.send(message);
        break;
    }
  }

  #markServing(running: Running, startedMs: number): void {
    const { log, clock, count } = this.#options;
    const { index, worker } = running;
    running.serving = true;
    log.info({ worker: index, pid: worker.pid, ms: Math.round(clock.monotonic() - startedMs) }, 'worker serves');
    if (this.#hasServed) return;
    this.#hasServed = true;
    this.#ready.resolve();
    if (this.#closing.signal.aborted) return;
    for (let other = 0; other < count; other++) if (other !== index) this.#start(other);
  }

  async #answerGather(running: Running, id: number): Promise<void> {
    const { metrics, log } = this.#options;
    try {
      const own = await metricsOf(metrics);
      const others = [...this.#running.values()].filter((each) => each !== running);
      const theirs = await Promise.all(others.map((each) => this.#collect(each)));
      running.worker.send({ type: 'gathered', id, metrics: [own, ...theirs, ...this.#endedMetrics] });
    } catch (err) {
      log.warn({ err }, 'could not read the metrics of the supervisor');
      running.worker.send({ type: 'gathered', id, metrics: [] });
    }
  }

  /** A worker's metrics, or its last reported ones if it does not reply in time. */
  #collect(running: Running): Promise<readonly MetricData[]> {
    if (running.beats === undefined) return Promise.resolve(running.metrics);
    const id = this.#nextGathering++;
    return new Promise((resolve) => {
      const done = (metrics: readonly MetricData[]) => {
        timer.cancel();
        this.#gathering.delete(id);
        resolve(metrics);
      };
      const timer = this.#options.clock.setTimer(() => done(running.metrics), gatherMs);
      this.#gathering.set(id, done);
      running.worker.send({ type: 'collect', id });
    });
  }

  /** Starts a replacement, unless the server is ending or no worker has ever served. */
  #ended(running: Running, code: number | null, ranMs: number): void {
    const { log, clock } = this.#options;
    const { signal } = this.#closing;
    const { index } = running;
    this.#running.delete(index);
    if (signal.aborted) return;
    if (!this.#hasServed) {
      this.#ready.reject(new Error('the API server did not start; see the log of its worker'));
      this.#closing.abort();
      return;
    }
    const reason: EndReason = running.stuck ? 'held' : 'died';
    this.#restarts.inc({ reason });
    void this.#keepMetrics(running.metrics);
    const attempt = ranMs >= stableMs ? 0 : (this.#attempts.get(index) ?? 0) + 1;
    this.#attempts.set(index, attempt);
    const delayMs = attempt === 0 ? 0 : exponentialDelayMs(attempt, retryMs, retryMaxMs);
    log.error({ worker: index, reason, code, delayMs }, 'worker has ended, starting another');
    void clock.sleep(delayMs, signal).then(() => {
      if (!signal.aborted) this.#start(index);
    });
  }

  /** Keeps the last reported counters of an ended worker: a server's counters must not decrease. */
  async #keepMetrics(metrics: readonly MetricData[]): Promise<void> {
    const all = [...this.#endedMetrics, withoutGauges(metrics)];
    this.#endedMetrics = all;
    const merged = withoutGauges(await metricsOf(aggregate(all)));
    this.#endedMetrics = [merged, ...this.#endedMetrics.filter((each) => !all.includes(each))];
  }

  async #supervise(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await clock.sleep(checkMs, signal);
      if (signal.aborted) return;
      const beats = new Map<number, number>();
      for (const { index, beats: count, stuck } of this.#running.values()) {
        if (count !== undefined && !stuck) beats.set(index, count);
      }
      for (const index of this.#liveness.check(beats, clock.monotonic())) this.#killStuck(index, stuckMs);
      // The first worker may wait for the store for as long as it takes.
      if (!this.#hasServed) continue;
      for (const { index, beats: count, startedMs, stuck } of this.#running.values())
        if (count === undefined && !stuck && clock.monotonic() - startedMs >= firstBeatMs)
          this.#killStuck(index, firstBeatMs);
    }
  }

  #killStuck(index: number, silentMs: number): void {
    const running = this.#running.get(index);
    if (running === undefined) return;
    running.stuck = true;
    this.#options.log.error({ worker: index, silentMs }, 'worker is stuck, killing it');
    running.worker.kill();
  }
}

/**
 * The number of workers. `option` 0 means automatic: half of the cores, as etcd usually needs as much on the same machine, and
 * at most eight, as each worker follows every write of etcd. With fewer than four cores one worker runs, without a supervisor.
 */
export function workerCount(option: number, cores: number): number {
  if (option > 0) return option;
  return cores < 4 ? 1 : Math.min(8, Math.floor(cores / 2));
}
