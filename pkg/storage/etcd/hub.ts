/**
 * One watch at etcd over everything below the root, shared by all watches within it.
 *
 * Why one and not one per resource: events of one etcd watch come in the order of their revisions, so an event of any
 * resource tells every watch that it is complete up to there. Most consistent reads then find their revision reached
 * already, with no question to etcd.
 *
 * A watch reads from a queue of its own. One that falls behind its bound, or that starts before what the hub remembers,
 * follows etcd by itself with back-pressure until it has caught up with the hub.
 */
import type { Clock } from '#apimachinery/clock.js';
import { RecentEvents } from '#storage/etcd/recent-events.js';
import { Subscription } from '#storage/etcd/subscription.js';
import type { UpstreamBatch } from '#storage/etcd/upstream.js';
import { keyOf, type Revision, type WatchMessage, type WatchOptions } from '#storage/store.js';

export interface HubOptions {
  readonly start: string;
  readonly end: string;
  readonly clock: Clock;
  /** Follows etcd from that revision on, over the whole range of the hub. */
  readonly follow: (fromRevision: Revision, signal: AbortSignal) => AsyncIterable<UpstreamBatch>;
  /** The newest revision that any answer of etcd has shown. */
  readonly seen: () => Revision;
  /** A current revision, when none has been seen. */
  readonly currentRevision: () => Promise<Revision>;
  /** Writes something within the range, so that the watch gets an event; 0 when it failed. Never rejects. */
  readonly stir: () => Promise<Revision>;
  /** Events that may wait for one watch. */
  readonly queueSize: number;
}

/** How long an expected event may take before the hub writes one itself. */
const stirAfterMs = 10;
/** Pause before the hub asks etcd again where it stands. */
const startRetryMs = 200;

/** A watch that follows etcd by itself for the time being. */
interface Straggler {
  readonly start: string;
  /** Somebody waits for it to have come to this revision. */
  wanted: Revision;
}

export class Hub {
  readonly #options: HubOptions;
  readonly #subscriptions = new Set<Subscription>();
  readonly #stragglers = new Set<Straggler>();
  readonly #recent = new RecentEvents();
  /** Complete up to here. */
  #revision: Revision = 0n;
  /** There is an event of that revision within the range: the watch gets at least so far by itself. */
  #coming: Revision = 0n;
  /** Open watches, whatever they do at the moment. */
  #users = 0;
  #running: AbortController | undefined;
  #starting: Promise<void> | undefined;
  #stirring = false;

  constructor(options: HubOptions) {
    this.#options = options;
  }

  /** True when the hub's range holds the whole of the other. */
  covers(start: string, end: string): boolean {
    return start >= this.#options.start && end <= this.#options.end;
  }

  /** See Store.watch. */
  async *watch(options: WatchOptions): AsyncGenerator<WatchMessage, void, void> {
    let next = options.fromRevision;
    this.#users++;
    try {
      while (!options.signal.aborted) {
        await this.#ensureRunning(options.signal);
        const messages = next > this.#recent.floor ? this.#joined(options, next) : this.#catchUp(options, next);
        for await (const message of messages) {
          if (message.revision >= next) next = message.revision + 1n;
          yield message;
        }
      }
    } finally {
      this.#users--;
      if (this.#users === 0) this.#stop();
    }
  }

  /** Something within the range was written at that revision. */
  wrote(revision: Revision): void {
    if (revision > this.#coming) this.#coming = revision;
  }

  requestProgress(start: string | undefined): void {
    const target = this.#options.seen();
    for (const subscription of this.#subscriptions) {
      if (start === undefined || subscription.start === start) this.#ask(subscription, target);
    }
    for (const straggler of this.#stragglers) {
      if (start === undefined || straggler.start === start) straggler.wanted = target;
    }
    this.#stirIfNeeded();
  }

  close(): void {
    this.#stop();
    for (const subscription of this.#subscriptions) subscription.end();
  }

  /** From the hub itself; ends when the signal aborts or the queue has overflowed. */
  async *#joined(options: WatchOptions, next: Revision): AsyncGenerator<WatchMessage, void, void> {
    const { start, end, signal } = options;
    const subscription = new Subscription({ start, end, after: next - 1n, queueSize: this.#options.queueSize });
    this.#subscriptions.add(subscription);
    const leave = () => subscription.end();
    signal.addEventListener('abort', leave, { once: true });
    try {
      subscription.offer(this.#recent.after(next - 1n));
      // Progress may have been asked for before this watch was there to answer.
      this.#ask(subscription, this.#options.seen());
      this.#stirIfNeeded();
      for (;;) {
        const message = await subscription.take();
        if (message === undefined || signal.aborted) return;
        yield message;
      }
    } finally {
      signal.removeEventListener('abort', leave);
      this.#subscriptions.delete(subscription);
    }
  }

  /** From etcd directly, until the hub remembers what comes next. */
  async *#catchUp(options: WatchOptions, next: Revision): AsyncGenerator<WatchMessage, void, void> {
    const { start, end, signal } = options;
    const straggler = { start, wanted: this.#recent.floor };
    this.#stragglers.add(straggler);
    this.#stirIfNeeded();
    try {
      for await (const { events, revision } of this.#options.follow(next, signal)) {
        const wanted = events.filter((event) => keyOf(event) >= start && keyOf(event) < end);
        yield wanted.length > 0 ? { type: 'events', events: wanted, revision } : { type: 'progress', revision };
        if (revision >= this.#recent.floor) return;
      }
    } finally {
      this.#stragglers.delete(straggler);
    }
  }

  #ask(subscription: Subscription, target: Revision): void {
    subscription.wantProgress(target);
    subscription.reached(this.#revision);
  }

  async #ensureRunning(signal: AbortSignal): Promise<void> {
    while (this.#running === undefined && !signal.aborted) {
      this.#starting ??= this.#start().finally(() => {
        this.#starting = undefined;
      });
      await this.#starting;
    }
  }

  async #start(): Promise<void> {
    const { seen, currentRevision, clock } = this.#options;
    let revision = seen();
    if (revision === 0n) {
      try {
        revision = await currentRevision();
      } catch {
        // Not reachable yet: the caller's loop comes back.
        await clock.sleep(startRetryMs);
        return;
      }
    }
    const running = new AbortController();
    this.#running = running;
    this.#revision = revision;
    this.#recent.reset(revision);
    void this.#run(running, revision + 1n);
  }

  #stop(): void {
    this.#running?.abort();
    this.#running = undefined;
  }

  /** Never rejects: a failure ends the subscriptions with it. */
  async #run(running: AbortController, fromRevision: Revision): Promise<void> {
    try {
      for await (const batch of this.#options.follow(fromRevision, running.signal)) this.#deliver(batch);
    } catch (err) {
      this.#running = undefined;
      for (const subscription of this.#subscriptions) subscription.end(err);
    }
  }

  #deliver({ events, revision }: UpstreamBatch): void {
    this.#revision = revision;
    // After a progress notification, which has no event, those behind the hub still need one to get there.
    if (events.length > 0) this.wrote(revision);
    this.#recent.add(events);
    for (const subscription of this.#subscriptions) {
      subscription.offer(events);
      subscription.reached(revision);
    }
  }

  /** True when somebody waits for news that may never come: what moved etcd's revision lies outside of the range. */
  #someoneWaits(): boolean {
    for (const subscription of this.#subscriptions) if (subscription.waitsBeyond(this.#coming)) return true;
    for (const straggler of this.#stragglers) if (straggler.wanted > this.#coming) return true;
    return false;
  }

  #stirIfNeeded(): void {
    if (this.#stirring || this.#running === undefined || !this.#someoneWaits()) return;
    this.#stirring = true;
    this.#options.clock.setTimer(() => void this.#stir(), stirAfterMs);
  }

  async #stir(): Promise<void> {
    try {
      if (this.#running !== undefined && this.#someoneWaits()) this.wrote(await this.#options.stir());
    } finally {
      this.#stirring = false;
      this.#stirIfNeeded();
    }
  }
}
