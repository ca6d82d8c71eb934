/**
 * The queue between informers and reconcilers.
 *
 * Guarantees: an item is in the queue at most once; no two workers hold the same item; an item added while it is
 * worked on is queued again when its worker is done; items are handed out in the order in which they were added.
 * (The semantics of client-go's workqueue: Type, DelayingType and RateLimitingType in one.)
 */
import type { Clock, Timer } from '#apimachinery/clock.js';
import { DelayHeap } from '#client/workqueue/delay-heap.js';
import { Fifo } from '#client/workqueue/fifo.js';
import { type QueueMetrics, WorkQueueMetrics } from '#client/workqueue/metrics.js';
import { defaultControllerRateLimiter, type RateLimiter } from '#client/workqueue/rate-limiter.js';

export interface WorkQueueOptions<K> {
  readonly clock: Clock;
  /** Label of the queue's series; without it there are none. */
  readonly name?: string;
  readonly metrics?: WorkQueueMetrics;
  /** Absent: `defaultControllerRateLimiter`. */
  readonly rateLimiter?: RateLimiter<K>;
}

/** What a queue holds at one moment. */
export interface QueueSnapshot<K> {
  /** Ready to be handed out, in that order. */
  readonly ready: readonly { readonly item: K; readonly forMs: number }[];
  /** Those that workers hold; `again`: added since. */
  readonly held: readonly { readonly item: K; readonly forMs: number; readonly again: boolean }[];
  /** Those that wait for their instant, the earliest first. */
  readonly delayed: readonly { readonly item: K; readonly inMs: number; readonly failures: number }[];
}

export class WorkQueue<K = string> {
  readonly #clock: Clock;
  readonly #limiter: RateLimiter<K>;
  readonly #metrics: QueueMetrics;
  readonly #queue = new Fifo<K>();
  /** Items that wait to be worked on, those being worked on included; the value is when they were added. */
  readonly #dirty = new Map<K, number>();
  /** Items that a worker holds; the value is since when. */
  readonly #processing = new Map<K, number>();
  readonly #delayed = new DelayHeap<K>();
  readonly #waiters = new Fifo<(item: K | undefined) => void>();
  readonly #drained: (() => void)[] = [];
  #timer: Timer | undefined;
  #timerDueMs = 0;
  #state: 'open' | 'draining' | 'closed' = 'open';

  constructor(options: WorkQueueOptions<K>) {
    this.#clock = options.clock;
    this.#limiter = options.rateLimiter ?? defaultControllerRateLimiter<K>(options.clock);
    this.#metrics = (options.metrics ?? new WorkQueueMetrics(undefined)).forQueue(options.name, {
      depth: () => this.#queue.size,
      runningSeconds: () => {
        const now = this.#clock.monotonic();
        return [...this.#processing.values()].map((since) => (now - since) / 1000);
      },
    });
  }

  /** Items ready to be handed out. */
  get length(): number {
    return this.#queue.size;
  }

  /** Items that wait for their instant. */
  get delayedLength(): number {
    return this.#delayed.size;
  }

  /** Items that workers hold. */
  get processingLength(): number {
    return this.#processing.size;
  }

  get shuttingDown(): boolean {
    return this.#state !== 'open';
  }

  snapshot(): QueueSnapshot<K> {
    const now = this.#clock.monotonic();
    const items = (since: ReadonlyMap<K, number>) => [...since].map(([item, ms]) => ({ item, forMs: now - ms }));
    const delayed = [...this.#delayed.entries()].sort((a, b) => a.dueMs - b.dueMs);
    return {
      ready: items(this.#dirty).filter(({ item }) => !this.#processing.has(item)),
      held: items(this.#processing).map((held) => ({ ...held, again: this.#dirty.has(held.item) })),
      delayed: delayed.map(({ item, dueMs }) => ({ item, inMs: dueMs - now, failures: this.requeues(item) })),
    };
  }

  /** Marks the item as needing work. Does nothing when it is marked already, or after shutdown. */
  add(item: K): void {
    if (this.#state !== 'open' || this.#dirty.has(item)) return;
    this.#metrics.added();
    this.#dirty.set(item, this.#clock.monotonic());
    if (!this.#processing.has(item)) this.#enqueue(item);
  }

  /** Adds the item after `ms`; when asked for several times, at the earliest instant. */
  addAfter(item: K, ms: number): void {
    if (this.#state !== 'open') return;
    this.#metrics.retried();
    if (!(ms > 0)) {
      this.add(item);
      return;
    }
    this.#delayed.add(item, this.#clock.monotonic() + ms);
    this.#armTimer();
  }

  /** Adds the item when its rate limiter allows. */
  addRateLimited(item: K): void {
    if (this.#state !== 'open') return;
    this.addAfter(item, this.#limiter.whenMs(item));
  }

  /** The item is healthy again (or given up): the next failure starts from the shortest delay. */
  forget(item: K): void {
    this.#limiter.forget(item);
  }

  /** Failures since the item was last forgotten. */
  requeues(item: K): number {
    return this.#limiter.requeues(item);
  }

  /** The next item if one is ready. Each item taken must be given to `done`. */
  tryGet(): K | undefined {
    const item = this.#queue.shift();
    if (item !== undefined) this.#take(item);
    return item;
  }

  /** Waits for the next item; undefined once the queue is shut down and empty. */
  get(): Promise<K | undefined> {
    const item = this.tryGet();
    if (item !== undefined || this.#state !== 'open') return Promise.resolve(item);
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  /** The worker finished with the item. */
  done(item: K): void {
    const since = this.#processing.get(item);
    if (since === undefined) return;
    this.#processing.delete(item);
    this.#metrics.finished(this.#clock.monotonic() - since);
    if (this.#state !== 'closed' && this.#dirty.has(item)) this.#enqueue(item);
    this.#settle();
  }

  /** Takes no more items; those ready are still handed out, delayed ones are dropped. */
  shutDown(): void {
    if (this.#state !== 'open') return;
    this.#state = 'draining';
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#delayed.clear();
    for (let waiter = this.#waiters.shift(); waiter !== undefined; waiter = this.#waiters.shift()) waiter(undefined);
    this.#settle();
  }

  /** `shutDown`, resolved when every item that was ready or held is done. */
  shutDownWithDrain(): Promise<void> {
    this.shutDown();
    if (this.#state === 'closed') return Promise.resolve();
    return new Promise((resolve) => this.#drained.push(resolve));
  }

  #enqueue(item: K): void {
    const waiter = this.#waiters.shift();
    if (waiter === undefined) {
      this.#queue.push(item);
      return;
    }
    this.#take(item);
    waiter(item);
  }

  #take(item: K): void {
    const now = this.#clock.monotonic();
    this.#metrics.started(now - (this.#dirty.get(item) ?? now));
    this.#dirty.delete(item);
    this.#processing.set(item, now);
  }

  #settle(): void {
    if (this.#state !== 'draining' || this.#queue.size > 0 || this.#processing.size > 0) return;
    this.#state = 'closed';
    this.#metrics.closed();
    for (const resolve of this.#drained.splice(0)) resolve();
  }

  /** One timer at a time, for the item that is due first. */
  #armTimer(): void {
    const dueMs = this.#delayed.nextDueMs;
    if (dueMs === undefined || (this.#timer !== undefined && this.#timerDueMs <= dueMs)) return;
    this.#timer?.cancel();
    this.#timerDueMs = dueMs;
    this.#timer = this.#clock.setTimer(() => this.#fire(), dueMs - this.#clock.monotonic());
  }

  #fire(): void {
    this.#timer = undefined;
    const now = this.#clock.monotonic();
    for (let item = this.#delayed.popDue(now); item !== undefined; item = this.#delayed.popDue(now)) this.add(item);
    this.#armTimer();
  }
}
