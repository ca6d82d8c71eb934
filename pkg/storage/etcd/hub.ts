/**
 * One etcd watch of everything below the root, shared by all watches in its range.
 * One watch delivers the events of all resources in revision order, so each event completes every watch up to its
 * revision. Most consistent reads then need no request to etcd.
 * Each watch has its own queue, and an event costs only the watches of its key. The hub keeps no history: a watch that
 * starts before the hub's position, or whose queue was full, joins first and reads the gap from etcd itself, with
 * back-pressure.
 */
import { Backoff } from '#apimachinery/backoff/backoff.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Logger } from '#daemon/log/logger.js';
import { type EtcdEvent, type EtcdWatchResponse, readWatchResponse, WireReader } from '#storage/etcd/answers.js';
import type { EtcdConnection } from '#storage/etcd/connection.js';
import { translateEtcdError } from '#storage/etcd/errors.js';
import type { GrpcStream } from '#storage/etcd/grpc/call.js';
import { watchCreateRequest } from '#storage/etcd/requests.js';
import type { ServerKind } from '#storage/etcd/server-kind.js';
import { Subscription, SubscriptionIndex } from '#storage/etcd/subscription.js';
import { type Revision, StoreError, type StoreEvent, type WatchMessage, type WatchOptions } from '#storage/store.js';

export interface HubOptions {
  readonly start: string;
  readonly end: string;
  readonly clock: Clock;
  /** Follows etcd from the revision on, over the hub's whole range. */
  readonly follow: (fromRevision: Revision, signal: AbortSignal) => AsyncIterable<UpstreamBatch>;
  /** The newest revision in any response of etcd. */
  readonly seen: () => Revision;
  /** Reads the current revision; used if no response contained one. */
  readonly currentRevision: () => Promise<Revision>;
  /** Writes a key in the range, so that the watch gets an event; 0 after a failure. Never rejects. */
  readonly writeProgress: () => Promise<Revision>;
  /** Limit of queued events per watch. */
  readonly queueSize: number;
}

/** Time to wait for an expected event before the hub writes a key itself. */
const writeAfterMs = 10;
/** Pause before the hub requests etcd's revision again. */
const startRetryMs = 200;

/** A watch that reads the gap before its join from etcd. */
interface Straggler {
  /** Revision at the join. */
  readonly joinedAt: Revision;
}

export class Hub {
  readonly #options: HubOptions;
  readonly #subscriptions = new SubscriptionIndex();
  /** Subscriptions that wait for progress. */
  readonly #awaitingProgress = new Set<Subscription>();
  readonly #stragglers = new Set<Straggler>();
  /** The revision up to which the watch is complete. */
  #revision: Revision = 0n;
  /** Revision of an expected event in the range: the watch reaches it without a write. */
  #coming: Revision = 0n;
  /** Number of open watches in any state. */
  #users = 0;
  #running: AbortController | undefined;
  #starting: Promise<void> | undefined;
  #writing = false;

  constructor(options: HubOptions) {
    this.#options = options;
  }

  /** True if the hub's range includes the other range. */
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
        for await (const message of this.#joined(options, next)) {
          if (message.revision >= next) next = message.revision + 1n;
          yield message;
        }
      }
    } finally {
      this.#users--;
      if (this.#users === 0) this.#stop();
    }
  }

  /** Reports that a key in the range was written at the revision. */
  wrote(revision: Revision): void {
    if (revision > this.#coming) this.#coming = revision;
  }

  requestProgress(start: string | undefined): void {
    const target = this.#options.seen();
    for (const subscription of this.#subscriptions.all) {
      if (start === undefined || subscription.start === start) this.#requestProgressOf(subscription, target);
    }
    this.#progressIfNeeded();
  }

  close(): void {
    this.#stop();
    for (const subscription of this.#subscriptions.all) subscription.close();
  }

  /** Delivers every write from `next` on; ends when the signal aborts or the queue was full. */
  async *#joined(options: WatchOptions, next: Revision): AsyncGenerator<WatchMessage, void, void> {
    // If the hub has stopped meanwhile, a joining watch would miss events before its restart.
    if (this.#running === undefined) return;
    const { start, end, signal } = options;
    const joinedAt = this.#revision;
    const after = next > joinedAt ? next - 1n : joinedAt;
    const subscription = new Subscription({ start, end, after, queueSize: this.#options.queueSize });
    this.#subscriptions.add(subscription);
    const leave = () => subscription.close();
    signal.addEventListener('abort', leave, { once: true });
    try {
      // Progress may have been requested before this watch joined.
      this.#requestProgressOf(subscription, this.#options.seen());
      this.#progressIfNeeded();
      if (next <= joinedAt) yield* this.#between(options, next, joinedAt);
      for (;;) {
        const message = await subscription.take();
        if (message === undefined || signal.aborted) return;
        yield message;
      }
    } finally {
      signal.removeEventListener('abort', leave);
      this.#subscriptions.delete(subscription);
      this.#awaitingProgress.delete(subscription);
    }
  }

  /** Writes from `next` to `last`, read from etcd. */
  async *#between(options: WatchOptions, next: Revision, last: Revision): AsyncGenerator<WatchMessage, void, void> {
    const { start, end, signal } = options;
    const straggler = { joinedAt: last };
    this.#stragglers.add(straggler);
    this.#progressIfNeeded();
    try {
      for await (const batch of this.#options.follow(next, signal)) {
        const revision = batch.revision < last ? batch.revision : last;
        const events = batch.events.filter((event) => {
          const key = event.kv.key;
          return key >= start && key < end && event.kv.modRevision <= last;
        });
        yield events.length > 0 ? { type: 'events', events, revision } : { type: 'progress', revision };
        if (batch.revision >= last) return;
      }
    } finally {
      this.#stragglers.delete(straggler);
    }
  }

  #requestProgressOf(subscription: Subscription, target: Revision): void {
    subscription.wantProgress(target);
    if (!subscription.reached(this.#revision)) this.#awaitingProgress.add(subscription);
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
        // etcd is not reachable yet: the caller tries again.
        await clock.sleep(startRetryMs);
        return;
      }
    }
    const running = new AbortController();
    this.#running = running;
    this.#revision = revision;
    void this.#run(running, revision + 1n);
  }

  #stop(): void {
    this.#running?.abort();
    this.#running = undefined;
  }

  /** Follows etcd. Never rejects: a failure ends all subscriptions with the error. */
  async #run(running: AbortController, fromRevision: Revision): Promise<void> {
    try {
      for await (const batch of this.#options.follow(fromRevision, running.signal)) this.#deliver(batch);
    } catch (err) {
      this.#running = undefined;
      for (const subscription of this.#subscriptions.all) subscription.close(err);
    }
  }

  #deliver({ events, revision }: UpstreamBatch): void {
    this.#revision = revision;
    // After a progress notification without events, watches behind the hub still need an event to catch up.
    if (events.length > 0) this.wrote(revision);
    for (const [subscription, theirs] of this.#subscriptions.route(events)) subscription.offer(theirs);
    for (const subscription of this.#awaitingProgress)
      if (subscription.reached(revision)) this.#awaitingProgress.delete(subscription);
  }

  /** True if a watch waits for an event that may never come, because etcd's newest write is outside the range. */
  #isProgressAwaited(): boolean {
    for (const subscription of this.#awaitingProgress) if (subscription.waitsBeyond(this.#coming)) return true;
    for (const straggler of this.#stragglers) if (straggler.joinedAt > this.#coming) return true;
    return false;
  }

  #progressIfNeeded(): void {
    if (this.#writing || this.#running === undefined || !this.#isProgressAwaited()) return;
    this.#writing = true;
    this.#options.clock.setTimer(() => void this.#writeProgress(), writeAfterMs);
  }

  async #writeProgress(): Promise<void> {
    try {
      if (this.#running !== undefined && this.#isProgressAwaited()) this.wrote(await this.#options.writeProgress());
    } finally {
      this.#writing = false;
      this.#progressIfNeeded();
    }
  }
}

export interface UpstreamOptions {
  readonly connection: EtcdConnection;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  readonly start: string;
  readonly end: string;
  readonly fromRevision: Revision;
  readonly previous?: boolean;
  /** Called before each watch; after a rejection the watch is tried again. */
  readonly server: () => Promise<ServerKind>;
  readonly signal: AbortSignal;
}

/** Events of complete revisions; without events, only progress up to `revision`. */
export interface UpstreamBatch {
  readonly events: readonly StoreEvent[];
  readonly revision: Revision;
}

const watchPath = '/etcdserverpb.Watch/Watch';
const noValue = Buffer.alloc(0);
const reconnectBaseMs = 20;
const reconnectMaxMs = 1000;

/**
 * One etcd watch: reconnects and resumes after the last returned revision.
 * Uses only periodic progress notifications, which are ordered with the events. Requested ones may overtake events
 * before etcd 3.4.25 and 3.5.8 (etcd issue 15220), so none is ever requested.
 * Ends when the signal aborts; throws `compacted` if history is gone.
 */
export async function* upstream(options: UpstreamOptions): AsyncGenerator<UpstreamBatch, void, void> {
  const { connection, clock, random, log, start, end, previous = false, server, signal } = options;
  let next = options.fromRevision;
  /** Backoff since the last response. */
  let backoff: Backoff | undefined;
  let stream: GrpcStream | undefined;
  const cancel = () => stream?.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  try {
    while (!signal.aborted) {
      let failed = () => {};
      try {
        const { watchFrom, ordersProgress } = await server();
        const opened = await connection.open(watchPath);
        ({ stream, failed } = opened);
        if (signal.aborted) return;
        stream.write(watchCreateRequest({ start, end, fromRevision: watchFrom(next), previous }));
        let parts: EtcdEvent[] = [];
        // Reading message by message lets gRPC's flow control slow etcd down for a slow reader.
        for await (const bytes of stream) {
          const response = readWatchResponse(new WireReader(bytes));
          if (response.canceled) throw canceled(response);
          if (response.created) continue;
          parts = parts.length === 0 ? response.events : parts.concat(response.events);
          if (response.fragment || (parts.length === 0 && !ordersProgress)) continue;
          backoff = undefined;
          const revision = parts[parts.length - 1]?.kv.modRevision ?? response.revision;
          const events = parts.filter(({ kv }) => kv.modRevision >= next).map((part) => storeEvent(part, previous));
          parts = [];
          if (revision < next) continue;
          next = revision + 1n;
          yield { events, revision };
        }
        throw new StoreError('unavailable', 'etcd ended the watch');
      } catch (err) {
        cancel();
        if (signal.aborted) return;
        const error = translateEtcdError(err);
        if (error.code === 'compacted') throw error;
        failed();
        backoff ??= new Backoff({ initialMs: reconnectBaseMs, maxMs: reconnectMaxMs, spread: 0.5, random });
        const delayMs = backoff.nextMs();
        log.info({ err: error, delayMs, fromRevision: String(next) }, 'watch of etcd interrupted, resuming');
        await clock.sleep(delayMs, signal);
      }
    }
  } finally {
    signal.removeEventListener('abort', cancel);
    cancel();
  }
}

function canceled(response: EtcdWatchResponse): StoreError {
  if (response.compactRevision > 0n) {
    const { compactRevision: compacted } = response;
    return new StoreError('compacted', `history before revision ${compacted} has been compacted`, { compacted });
  }
  return new StoreError('unavailable', response.cancelReason || 'etcd canceled the watch');
}

/** kine tells previous values unasked, and the deleted value as the deletion's. */
function storeEvent({ deleted, kv, previous }: EtcdEvent, withPrevious: boolean): StoreEvent {
  const before = withPrevious && previous && { previous };
  if (deleted) return { type: 'delete', kv: kv.value.length === 0 ? kv : { ...kv, value: noValue }, ...before };
  return { type: 'put', kv, created: kv.createRevision === kv.modRevision, ...before };
}
