/**
 * The workers of an API server, seen from the main thread: it gives each a descriptor of the listening socket and a feed of
 * the objects, replaces those that are held or dead, and puts their metrics together. What clients ask never runs here.
 */
import type { AddressInfo } from 'node:net';
import { MessageChannel, type ResourceLimits, type Transferable, type Worker } from 'node:worker_threads';
import type { Registry } from 'prom-client';
import { exponentialDelayMs } from '#apimachinery/backoff/backoff.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Front } from '#apiserver/http/front.js';
import type { ControlBlock } from '#apiserver/workers/control-block.js';
import { openSocket, type SocketHandle } from '#apiserver/workers/listening-socket.js';
import { Liveness } from '#apiserver/workers/liveness.js';
import type { FromWorker, MetricData, ToWorker, WorkerData } from '#apiserver/workers/messages.js';
import { aggregate, metricsOf, remaining } from '#apiserver/workers/metrics.js';
import type { Logger } from '#daemon/log/logger.js';
import { semiSpaceMb } from '#daemon/memory/launch.js';
import { counter, gauge } from '#daemon/metrics/metric.js';
import type { Publisher } from '#storage/shared/publisher.js';

/** Starts a thread that serves: see `ApiServerWorker`. */
export type SpawnWorker = (data: WorkerData, transfer: readonly Transferable[]) => Worker;

/**
 * What those threads are limited to. New objects of a thread may take 48 MB unless this is said, and the memory is not given
 * back while the thread is at work. They have as much as a server of one thread has: V8 counts three of its halves.
 */
export const workerLimits: ResourceLimits = { maxYoungGenerationSizeMb: 3 * semiSpaceMb('orch-apiserver') };

export interface WorkerPoolOptions {
  readonly count: number;
  readonly host: string;
  /** 0: the system picks one. */
  readonly port: number;
  readonly spawn: SpawnWorker;
  readonly publisher: Publisher;
  readonly control: ControlBlock;
  /** Of the server, where it has one. */
  readonly identity?: string | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Registry;
  /** Of the main thread's log; set when a worker is told to log more or less. */
  readonly verbosity?: { level: number } | undefined;
}

type EndReason = 'held' | 'died';

/** One thread in one place. */
interface Running {
  readonly index: number;
  readonly worker: Worker;
  readonly exited: Promise<void>;
  readonly leaveFeed: () => void;
  /** Beats are expected: it has got as far as its event loop. */
  beating: boolean;
  held: boolean;
  metrics: readonly MetricData[];
}

/**
 * A worker that does not come back to its event loop for so long is replaced. Longer than any request should take, shorter
 * than what leaders have for renewing their leases (10 s), whose connections may be on it.
 */
const heldMs = 5000;
const lookMs = 500;
/** Workers take the main thread for held when it does not beat; this is far more often than they look. */
const beatMs = 250;
/** The metrics of a worker that does not answer for so long are those that it had last. */
const gatherMs = 1000;
const retryMs = 100;
const retryMaxMs = 10_000;
/** A worker that ran for so long had no trouble starting. */
const settledMs = 30_000;
/** For what a worker does behind its last request. */
const closeSlackMs = 5000;

export class WorkerPool implements Front {
  readonly #options: WorkerPoolOptions;
  readonly #running = new Map<number, Running>();
  readonly #liveness = new Liveness({ heldMs, periodMs: lookMs });
  readonly #stop = new AbortController();
  readonly #restarts;
  /** What workers had counted that are gone. */
  #departed: (readonly MetricData[])[] = [];
  /** By the worker's place: starts in a row that came to nothing. */
  readonly #attempts = new Map<number, number>();
  readonly #gathering = new Map<number, (metrics: readonly MetricData[]) => void>();
  #nextGathering = 1;
  #socket: SocketHandle | undefined;
  #supervising: Promise<unknown> | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: WorkerPoolOptions) {
    this.#options = options;
    const { metrics, publisher, control } = options;
    gauge(metrics, {
      name: 'apiserver_workers',
      help: 'Threads that serve requests.',
      collect() {
        this.set(control.serving);
      },
    });
    gauge(metrics, {
      name: 'apiserver_shared_memory_bytes',
      help: 'Memory that workers read objects from: in use by the present objects (used), and of all of its slabs (reserved).',
      labelNames: ['state'],
      collect() {
        const { live, slabs } = publisher.size;
        this.set({ state: 'used' }, live);
        this.set({ state: 'reserved' }, slabs);
      },
    });
    this.#restarts = counter(metrics, {
      name: 'apiserver_worker_restarts_total',
      help: 'Workers that were replaced, by the reason: held by something for too long, or died.',
      labelNames: ['reason'],
    });
    for (const reason of ['held', 'died']) this.#restarts.inc({ reason }, 0);
  }

  /** Binds the socket and starts the workers; resolves with the address when connections wait for them. */
  async listen(): Promise<AddressInfo> {
    const { host, port, count } = this.#options;
    const { handle, address } = await openSocket(host, port);
    this.#socket = handle;
    for (let index = 0; index < count; index++) this.#start(index, handle, true);
    this.#supervising = Promise.all([this.#supervise(), this.#beat()]);
    return address;
  }

  /** Each worker follows the files itself. */
  reloadTLS(): void {}

  leaving(): void {
    this.#options.control.tell('stopping');
  }

  close(graceMs: number, sleep: (ms: number, signal: AbortSignal) => Promise<void>): Promise<void> {
    this.#closing ??= this.#close(graceMs, sleep);
    return this.#closing;
  }

  /** The metrics of all threads, as those of one server. */
  async metrics(): Promise<Registry> {
    return aggregate([await metricsOf(this.#options.metrics), ...(await this.#gather(undefined)), ...this.#departed]);
  }

  async #close(graceMs: number, sleep: (ms: number, signal: AbortSignal) => Promise<void>): Promise<void> {
    this.#stop.abort();
    // New connections are refused when the workers have let go of theirs, too. One that has yet to copy it must not find
    // another file under its number.
    const copied = [...this.#running.values()].every(({ beating }) => beating);
    if (copied) this.#socket?.close();
    const ended = new AbortController();
    for (const running of this.#running.values()) this.#tell(running, { type: 'stop' });
    const all = Promise.all([...this.#running.values()].map(({ exited }) => exited)).then(() => ended.abort());
    await sleep(graceMs + closeSlackMs, ended.signal);
    for (const { worker, index } of this.#running.values()) {
      this.#options.log.warn({ worker: index }, 'Worker does not end, stopping it at once');
      await worker.terminate();
    }
    await all;
    if (!copied) this.#socket?.close();
    await this.#supervising;
  }

  #start(index: number, { fd: descriptor }: SocketHandle, early: boolean): void {
    const { spawn, control, identity, count: workers, publisher, log, clock } = this.#options;
    const { port1: feed, port2 } = new MessageChannel();
    control.clear(index);
    const data: WorkerData = { index, workers, control: control.memory, descriptor, feed: port2, identity, early };
    const worker = spawn(data, [port2]);
    const startedMs = clock.monotonic();
    let leaveFeed: () => void = () => undefined;
    worker.on('error', (err) => log.error({ err, worker: index }, 'Worker failed'));
    const exited = new Promise<void>((resolve) => {
      worker.once('exit', (code) => {
        leaveFeed();
        feed.close();
        this.#ended(running, code, clock.monotonic() - startedMs);
        resolve();
      });
    });
    const running: Running = {
      index,
      worker,
      exited,
      leaveFeed: () => leaveFeed(),
      beating: false,
      held: false,
      metrics: [],
    };
    this.#running.set(index, running);
    worker.on('message', (message: FromWorker) => {
      if (message.type === 'following') {
        running.beating = true;
        leaveFeed = publisher.add(feed);
      } else if (message.type === 'ready') {
        log.info({ worker: index, ms: Math.round(clock.monotonic() - startedMs) }, 'Worker serves');
      } else this.#hear(running, message);
    });
  }

  #hear(running: Running, message: Exclude<FromWorker, { type: 'following' | 'ready' }>): void {
    switch (message.type) {
      case 'metrics':
        running.metrics = message.metrics;
        this.#gathering.get(message.id)?.(message.metrics);
        break;
      case 'gather':
        void this.#answerGather(running, message.id);
        break;
      case 'verbosity':
        if (this.#options.verbosity !== undefined) this.#options.verbosity.level = message.level;
        for (const other of this.#running.values()) if (other !== running) this.#tell(other, message);
        break;
    }
  }

  async #answerGather(asking: Running, id: number): Promise<void> {
    const { metrics, log } = this.#options;
    try {
      const own = await metricsOf(metrics);
      const others = await this.#gather(asking);
      this.#tell(asking, { type: 'gathered', id, metrics: [own, ...others, ...this.#departed] });
    } catch (err) {
      log.warn({ err }, 'Cannot read the metrics of the main thread');
      this.#tell(asking, { type: 'gathered', id, metrics: [] });
    }
  }

  /** Of all workers but one. */
  #gather(but: Running | undefined): Promise<(readonly MetricData[])[]> {
    const asked = [...this.#running.values()].filter((running) => running !== but);
    return Promise.all(asked.map((running) => this.#collect(running)));
  }

  /** A worker's metrics, or those it had last when it does not answer. */
  #collect(running: Running): Promise<readonly MetricData[]> {
    if (!running.beating) return Promise.resolve(running.metrics);
    const id = this.#nextGathering++;
    return new Promise((resolve) => {
      const done = (metrics: readonly MetricData[]) => {
        timer.cancel();
        this.#gathering.delete(id);
        resolve(metrics);
      };
      const timer = this.#options.clock.setTimer(() => done(running.metrics), gatherMs);
      this.#gathering.set(id, done);
      this.#tell(running, { type: 'collect', id });
    });
  }

  #tell({ worker }: Running, message: ToWorker): void {
    worker.postMessage(message);
  }

  /** Starts another one, unless all are to end. */
  #ended(running: Running, code: number, ranMs: number): void {
    const { control, log, clock } = this.#options;
    const { index } = running;
    if (this.#running.get(index) === running) this.#running.delete(index);
    control.clear(index);
    if (this.#stop.signal.aborted) return;
    const reason: EndReason = running.held ? 'held' : 'died';
    this.#restarts.inc({ reason });
    void this.#depart(running.metrics);
    const attempt = ranMs >= settledMs ? 0 : (this.#attempts.get(index) ?? 0) + 1;
    this.#attempts.set(index, attempt);
    const delayMs = attempt === 0 ? 0 : exponentialDelayMs(attempt, retryMs, retryMaxMs);
    log.error({ worker: index, reason, code, delayMs }, 'Worker has ended, starting another');
    void clock.sleep(delayMs, this.#stop.signal).then(() => {
      if (!this.#stop.signal.aborted && this.#socket !== undefined) this.#start(index, this.#socket, false);
    });
  }

  /** Keeps what a worker had counted when it was last asked: a server's counters do not go back. */
  async #depart(metrics: readonly MetricData[]): Promise<void> {
    const all = [...this.#departed, remaining(metrics)];
    this.#departed = all;
    const merged = remaining(await metricsOf(aggregate(all)));
    this.#departed = [merged, ...this.#departed.filter((each) => !all.includes(each))];
  }

  async #supervise(): Promise<void> {
    const { clock, control, log } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await clock.sleep(lookMs, signal);
      const beating = [...this.#running.values()].filter(({ beating, held }) => beating && !held);
      const beats = new Map(beating.map(({ index }) => [index, control.beats(index)]));
      for (const index of signal.aborted ? [] : this.#liveness.look(beats, clock.monotonic())) {
        const running = this.#running.get(index);
        if (running === undefined) continue;
        running.held = true;
        log.error({ worker: index, heldMs }, 'Worker is held by something that does not end, stopping it');
        void running.worker.terminate();
      }
    }
  }

  async #beat(): Promise<void> {
    const { clock, control } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      control.beat();
      await clock.sleep(beatMs, signal);
    }
  }
}
