/** Runs the list/watch protocol of one resource and passes on what it receives, in order. */

import { Backoff } from '#apimachinery/backoff/backoff.js';
import { type Clock, processClock } from '#apimachinery/clock.js';
import { isExpired } from '#apimachinery/errors/status.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { ApiObject, ListOptions, ResourceClient, WatchEvent } from '#client/client.js';
import type { ReflectorMetrics } from '#client/informer/metrics.js';
import {
  cannotStream,
  initialState,
  nextState,
  type ReflectorInput,
  type ReflectorState,
  streaming,
} from '#client/informer/reflector-state.js';
import type { Logger } from '#daemon/log/logger.js';
import { TransportError } from '#http/client/transport-error.js';

/** Receives the objects. All calls are synchronous and in order. */
export interface ReflectorSink<T> {
  /** Returns the stored form of an object, while its list or stream is still incomplete. */
  take(object: T): T;
  /** Sets the complete state at one version; `objects` come from `take`. */
  replace(objects: T[]): void;
  apply(event: WatchEvent<T>): void;
}

export interface ReflectorOptions<T extends ApiObject> {
  readonly client: ResourceClient<T>;
  /** Namespace and selectors. */
  readonly scope: Pick<ListOptions, 'namespace' | 'labelSelector' | 'fieldSelector'>;
  readonly sink: ReflectorSink<T>;
  readonly clock: Clock;
  /** Returns [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics: ReflectorMetrics;
  /**
   * Annotation of the bookmark that ends a streamed initial state. Streams replace lists until a server does not support
   * them. Absent: lists.
   */
  readonly initialEventsEnd?: string | undefined;
  /** Called when the server does not support streaming. */
  readonly onCannotStream?: () => void;
}

/** client-go's page size. Only lists of the most recent state are paged; others come from the server's cache. */
const pageSize = 500;
/** The server ends watches after five to ten minutes, so that they spread over servers again. */
const minWatchSeconds = 300;
/** A watch that lasts longer than its timeout by this much is on a dead connection. */
const watchGraceMs = 30_000;
/** A watch that lasted this long resets the retry delay. */
const healthyMs = 120_000;

export class Reflector<T extends ApiObject> {
  readonly #options: ReflectorOptions<T>;
  /** The connection's time. */
  readonly #clock: Clock;
  readonly #backoff: Backoff;
  #lastVersion = '';
  #streams: boolean;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#clock = processClock(options.clock);
    this.#streams = options.initialEventsEnd !== undefined;
    this.#backoff = new Backoff({ initialMs: 800, maxMs: 30_000, jitter: 1, random: options.random });
  }

  /** The version up to which everything was passed on; empty before the first list. */
  get lastVersion(): string {
    return this.#lastVersion;
  }

  /** Runs until `signal` aborts. Server failures never reject it: it waits and retries. */
  async run(signal: AbortSignal): Promise<void> {
    const { log } = this.#options;
    const clock = this.#clock;
    let state = this.#streams ? streaming(initialState) : initialState;
    while (!signal.aborted) {
      const startedAt = clock.monotonic();
      const input =
        state.phase === 'list' ? await this.#list(state.resourceVersion, signal) : await this.#watch(state, signal);
      if (signal.aborted) return;
      const transition = nextState(state, input);
      if (cannotStream(input)) {
        this.#streams = false;
        this.#options.onCannotStream?.();
      }
      state = this.#streams ? streaming(transition.state) : transition.state;
      const failure = 'error' in input ? input.error : undefined;
      if (!transition.backOff) {
        if (failure !== undefined) log.debug({ err: failure, next: state.phase }, 'list or watch restarts');
        // The server has answered, so earlier failures must not lengthen this pause.
        this.#backoff.reset();
        // A server that ends every watch at once must not cause a tight loop.
        if (input.kind === 'watchEnded' && clock.monotonic() - startedAt < 1000) await this.#pause(signal);
        continue;
      }
      if (clock.monotonic() - startedAt >= healthyMs) this.#backoff.reset();
      log.warn(
        { err: failure, next: state.phase, failures: this.#backoff.failures + 1 },
        'list or watch failed: retrying',
      );
      await this.#pause(signal);
    }
  }

  #pause(signal: AbortSignal): Promise<void> {
    return this.#clock.sleep(this.#backoff.nextMs(), signal);
  }

  async #list(version: string | undefined, signal: AbortSignal): Promise<ReflectorInput> {
    const { sink, metrics } = this.#options;
    const clock = this.#clock;
    const startedAt = clock.monotonic();
    metrics.listStarted();
    try {
      const { objects, resourceVersion } = await this.#pages(version, signal);
      if (signal.aborted) return { kind: 'listFailed', error: new TransportError('Aborted', 'list aborted') };
      sink.replace(objects);
      this.#lastVersion = resourceVersion;
      metrics.listFinished(clock.monotonic() - startedAt, objects.length, resourceVersion);
      return { kind: 'listed', resourceVersion };
    } catch (error) {
      return { kind: 'listFailed', error };
    }
  }

  async #pages(version: string | undefined, signal: AbortSignal) {
    const { client, scope, sink } = this.#options;
    const take = (object: T) => sink.take(object);
    const objects: T[] = [];
    // A cached version is served from memory at once; pages would make the server read its store.
    const first: ListOptions = version === undefined ? { limit: pageSize } : { resourceVersion: version };
    let page = await client.list({ ...scope, ...first, signal }, take);
    for (;;) {
      for (const object of page.items) objects.push(object);
      const next = page.metadata?.continue ?? '';
      if (next === '') break;
      try {
        page = await client.list({ ...scope, limit: pageSize, continue: next, signal }, take);
      } catch (error) {
        if (!isExpired(error)) throw error;
        // The pages took longer than the history lasts: request the whole list at once.
        objects.length = 0;
        page = await client.list({ ...scope, signal }, take);
      }
    }
    const resourceVersion = page.metadata?.resourceVersion ?? '';
    if (resourceVersion === '') throw new TransportError('Protocol', 'the list has no resourceVersion');
    return { objects, resourceVersion };
  }

  /** Watches; in phase 'stream' the watch begins with the complete state. */
  async #watch(state: ReflectorState, signal: AbortSignal): Promise<ReflectorInput> {
    const { client, scope, sink, metrics, random, initialEventsEnd = '' } = this.#options;
    let resourceVersion = state.resourceVersion ?? '';
    let initial = state.phase === 'stream' ? new Map<string, T>() : undefined;
    const timeoutSeconds = Math.floor(minWatchSeconds * (1 + random()));
    const controller = new AbortController();
    const abort = () => controller.abort();
    signal.addEventListener('abort', abort, { once: true });
    const timer = this.#clock.setTimer(abort, timeoutSeconds * 1000 + watchGraceMs);
    metrics.watchStarted();
    let events = 0;
    const ended = (error?: unknown): ReflectorInput => {
      if (initial === undefined)
        return { kind: 'watchEnded', resourceVersion, ...(error === undefined ? {} : { error }) };
      const early = new TransportError('Protocol', 'the watch ended before its initial events');
      return { kind: 'streamFailed', error: error ?? early };
    };
    try {
      const watch = client.watch({
        ...scope,
        ...(resourceVersion === '' ? {} : { resourceVersion }),
        ...(initial === undefined ? {} : { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' }),
        allowWatchBookmarks: true,
        timeoutSeconds,
        signal: controller.signal,
      });
      for await (const event of watch) {
        if (signal.aborted) break;
        events += 1;
        if (initial !== undefined) {
          const isEnd = event.object.metadata.annotations?.[initialEventsEnd] === 'true';
          if (event.type === 'DELETED') initial.delete(keyOf(event.object));
          else if (event.type !== 'BOOKMARK') initial.set(keyOf(event.object), sink.take(event.object));
          if (event.type !== 'BOOKMARK' || !isEnd) continue;
          sink.replace([...initial.values()]);
          initial = undefined;
        } else if (event.type !== 'BOOKMARK') sink.apply(event);
        // Set only now: a watch resumes from a version up to which everything was passed on.
        resourceVersion = event.object.metadata.resourceVersion ?? resourceVersion;
        this.#lastVersion = resourceVersion;
        metrics.observedVersion(resourceVersion);
      }
      return ended();
    } catch (error) {
      return ended(error);
    } finally {
      timer.cancel();
      signal.removeEventListener('abort', abort);
      metrics.watchFinished(events);
    }
  }
}
