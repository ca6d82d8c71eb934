/**
 * The queue between informers and reconcilers.
 *
 * Guarantees: an item is in the queue at most once; no two workers hold the same item; an item that is added while it is
 * processed is queued again afterwards; items are handed out in the order in which they were added.
 * (The semantics of client-go's workqueue: Type, DelayingType and RateLimitingType in one.)
 */
import { type Clock, pauseClock, type Timer } from '#apimachinery/clock.js';
import { KeyedHeap } from '#apimachinery/collections/keyed-heap.js';
import { maxPauseMs } from '#apimachinery/time/manual-clock.js';
import { type QueueMetrics, WorkQueueMetrics } from '#client/workqueue/metrics.js';
import { defaultControllerRateLimiter, type RateLimiter } from '#client/workqueue/rate-limiter.js';

/** A first-in first-out list with constant-time ends: a growing ring, because `Array.shift` moves every element. */
class Fifo<T> {
  #ring: (T | undefined)[] = new Array(16);
  #head = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(item: T): void {
    if (this.#size === this.#ring.length) this.#grow();
    this.#ring[(this.#head + this.#size) & (this.#ring.length - 1)] = item;
    this.#size += 1;
  }

  shift(): T | undefined {
    if (this.#size === 0) return undefined;
    const item = this.#ring[this.#head];
    this.#ring[this.#head] = undefined;
    this.#head = (this.#head + 1) & (this.#ring.length - 1);
    this.#size -= 1;
    return item;
  }

  clear(): void {
    this.#ring = new Array(16);
    this.#head = 0;
    this.#size = 0;
  }

  #grow(): void {
    const grown: (T | undefined)[] = new Array(this.#ring.length * 2);
    for (let i = 0; i < this.#size; i += 1) grown[i] = this.#ring[(this.#head + i) & (this.#ring.length - 1)];
    this.#ring = grown;
    this.#head = 0;
  }
}

interface Entry<K> {
  readonly item: K;
  readonly dueMs: number;
}

class DelayHeap<K> {
  readonly #heap = new KeyedHeap<Entry<K>, K>({ keyOf: (e) => e.item, before: (a, b) => a.dueMs < b.dueMs });

  get size(): number {
    return this.#heap.size;
  }

  /** When the first item becomes due; undefined if there is none. */
  get nextDueMs(): number | undefined {
    return this.#heap.peek()?.dueMs;
  }

  /** All entries, in no order. */
  entries(): Iterable<Entry<K>> {
    return this.#heap.values();
  }

  /** Adds the item, due at `dueMs`; an item that is already in the queue keeps the earlier time. */
  add(item: K, dueMs: number): void {
    const entry = this.#heap.get(item);
    if (entry === undefined || dueMs < entry.dueMs) this.#heap.push({ item, dueMs });
  }

  /** Removes and returns the first item if it is due at `nowMs`. */
  popDue(nowMs: number): K | undefined {
    const first = this.#heap.peek();
    if (first === undefined || first.dueMs > nowMs) return undefined;
    this.#heap.remove(first.item);
    return first.item;
  }

  clear(): void {
    this.#heap.clear();
  }
}

export interface WorkQueueOptions<K> {
  readonly clock: Clock;
  /** Label of the queue's metrics; absent: no metrics. */
  readonly name?: string;
  readonly metrics?: WorkQueueMetrics;
  /** Absent: `defaultControllerRateLimiter`. */
  readonly rateLimiter?: RateLimiter<K>;
}

/** The content of a queue at one time. */
export interface QueueSnapshot<K> {
  /** Items to hand out, in this order. */
  readonly ready: readonly { readonly item: K; readonly forMs: number }[];
  /** Items in progress; `again`: added again meanwhile. */
  readonly held: readonly { readonly item: K; readonly forMs: number; readonly again: boolean }[];
  /** Delayed items, earliest first. */
  readonly delayed: readonly { readonly item: K; readonly inMs: number; readonly failures: number }[];
}

export class WorkQueue<K = string> {
  readonly #clock: Clock;
  readonly #limiter: RateLimiter<K>;
  readonly #metrics: QueueMetrics;
  readonly #queue = new Fifo<K>();
  /** Item → when it was added, for all items that need work, including those added again while in progress. */
  readonly #dirty = new Map<K, number>();
  /** Item in progress → when it was started. */
  readonly #processing = new Map<K, number>();
  readonly #delayed = new DelayHeap<K>();
  /** Items that rest for a moment, on a clock that is moved by hand. */
  readonly #pausing = new Map<K, { readonly timer: Timer; readonly dueMs: number }>();
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

  /** Number of items ready to be handed out. */
  get length(): number {
    return this.#queue.size;
  }

  /** Number of delayed items. */
  get delayedLength(): number {
    return this.#delayed.size + this.#pausing.size;
  }

  /** Number of items in progress. */
  get processingLength(): number {
    return this.#processing.size;
  }

  /** True if no item is ready or in progress. */
  get isIdle(): boolean {
    return this.#queue.size === 0 && this.#processing.size === 0;
  }

  /** Items that are ready or in progress. */
  unfinished(): { readonly ready: readonly K[]; readonly held: readonly K[] } {
    return {
      ready: [...this.#dirty.keys()].filter((item) => !this.#processing.has(item)),
      held: [...this.#processing.keys()],
    };
  }

  get shuttingDown(): boolean {
    return this.#state !== 'open';
  }

  snapshot(): QueueSnapshot<K> {
    const now = this.#clock.monotonic();
    const items = (since: ReadonlyMap<K, number>) => [...since].map(([item, ms]) => ({ item, forMs: now - ms }));
    const pausing = [...this.#pausing].map(([item, { dueMs }]) => ({ item, dueMs }));
    const delayed = [...this.#delayed.entries(), ...pausing].sort((a, b) => a.dueMs - b.dueMs);
    return {
      ready: items(this.#dirty).filter(({ item }) => !this.#processing.has(item)),
      held: items(this.#processing).map((held) => ({ ...held, again: this.#dirty.has(held.item) })),
      delayed: delayed.map(({ item, dueMs }) => ({ item, inMs: dueMs - now, failures: this.requeues(item) })),
    };
  }

  /** Adds the item. Does nothing if it is already waiting, or after shutdown. */
  add(item: K): void {
    if (this.#state !== 'open' || this.#dirty.has(item)) return;
    this.#metrics.added();
    this.#dirty.set(item, this.#clock.monotonic());
    if (!this.#processing.has(item)) this.#enqueue(item);
  }

  /**
   * Adds the item after `ms`; of several calls the earliest time counts. `isPause`: the delay only keeps the queue from
   * trying too often (`ClockViews.pauses`).
   */
  addAfter(item: K, ms: number, { isPause = false }: { readonly isPause?: boolean } = {}): void {
    if (this.#state !== 'open') return;
    this.#metrics.retried();
    if (!(ms > 0)) {
      this.add(item);
      return;
    }
    if (isPause && ms <= maxPauseMs && this.#clock.views !== undefined) {
      this.#pause(item, ms);
      return;
    }
    this.#delayed.add(item, this.#clock.monotonic() + ms);
    this.#armTimer();
  }

  /** Adds the item when its rate limiter allows. */
  addRateLimited(item: K): void {
    if (this.#state !== 'open') return;
    this.addAfter(item, this.#limiter.whenMs(item), { isPause: true });
  }

  /** Resets the item's failures after success or giving up: its next failure starts from the shortest delay. */
  forget(item: K): void {
    this.#limiter.forget(item);
  }

  /** Failures since the last `forget`. */
  requeues(item: K): number {
    return this.#limiter.requeues(item);
  }

  /** The next item if one is ready. `done` must follow. */
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

  /** Ends the work on the item. */
  done(item: K): void {
    const since = this.#processing.get(item);
    if (since === undefined) return;
    this.#processing.delete(item);
    this.#metrics.finished(this.#clock.monotonic() - since);
    if (this.#state !== 'closed' && this.#dirty.has(item)) this.#enqueue(item);
    this.#settle();
  }

  /** Accepts no more items; ready ones are still handed out, delayed ones are dropped. */
  shutDown(): void {
    if (this.#state !== 'open') return;
    this.#state = 'draining';
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#delayed.clear();
    for (const { timer } of this.#pausing.values()) timer.cancel();
    this.#pausing.clear();
    for (let waiter = this.#waiters.shift(); waiter !== undefined; waiter = this.#waiters.shift()) waiter(undefined);
    this.#settle();
  }

  /** Shuts down, and resolves when all ready items and items in progress are done. */
  shutDownWithDrain(): Promise<void> {
    this.shutDown();
    if (this.#state === 'closed') return Promise.resolve();
    return new Promise((resolve) => this.#drained.push(resolve));
  }

  #pause(item: K, ms: number): void {
    const dueMs = this.#clock.monotonic() + ms;
    const pausing = this.#pausing.get(item);
    if (pausing !== undefined && pausing.dueMs <= dueMs) return;
    pausing?.timer.cancel();
    const over = () => {
      this.#pausing.delete(item);
      this.add(item);
    };
    this.#pausing.set(item, { timer: pauseClock(this.#clock).setTimer(over, ms), dueMs });
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
