/**
 * The store on etcd 3.4 or newer, or on kine.
 * Uses gRPC directly: client libraries that repeat calls by themselves would also repeat conditional writes, and report
 * a completed write as a conflict.
 */

import { deadline } from '#apimachinery/async/deadline.js';
import type { Cancellation } from '#apimachinery/cancellation.js';
import type { Clock } from '#apimachinery/clock.js';
import { type Logger, silentLogger } from '#daemon/log/logger.js';
import type { Tracer } from '#daemon/tracing/tracer.js';
import type { Dial } from '#http/client/dial.js';
import {
  type EtcdRangeResponse,
  readConditionalWriteResponse,
  readDbSize,
  readLeaseId,
  readRangeResponse,
  readRevision,
} from '#storage/etcd/answers.js';
import { type Call, EtcdConnection, type EtcdTls, SharedRead } from '#storage/etcd/connection.js';
import { isLeaseNotFound } from '#storage/etcd/errors.js';
import { Hub, type UpstreamBatch, upstream } from '#storage/etcd/hub.js';
import { LeasePool } from '#storage/etcd/lease-pool.js';
import {
  compactionRequest,
  conditionalWriteRequest,
  type EtcdRange,
  type EtcdWrite,
  leaseGrantRequest,
  rangeRequest,
} from '#storage/etcd/requests.js';
import { kineWarning, readServerKind, type ServerKind } from '#storage/etcd/server-kind.js';
import { progressKey } from '#storage/own-keys.js';
import { prefixEnd } from '#storage/sorted-map.js';
import {
  type DeleteOptions,
  type RangeOptions,
  type RangeResult,
  type Revision,
  type Store,
  StoreError,
  type WatchMessage,
  type WatchOptions,
  type WriteOptions,
  type WriteResult,
} from '#storage/store.js';
import { WritesApart } from '#storage/writes-apart.js';

export interface EtcdStoreOptions {
  /** `http://127.0.0.1:2379`, `https://…`; at least one. */
  readonly endpoints: readonly string[];
  readonly tls?: EtcdTls;
  /** Opens connections; absent: by TCP. */
  readonly dial?: Dial | undefined;
  /** Root of all keys, without a trailing slash: `/registry`. Watches below it share one etcd watch. */
  readonly root?: string;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly log?: Logger;
  /** Absent: no tracing. */
  readonly tracer?: Pick<Tracer, 'call'> | undefined;
  /** Time limit of a call. */
  readonly callTimeoutMs?: number;
  /** Limit of the time in which a lease takes more keys; 1.24's `--lease-reuse-duration-seconds`. */
  readonly leaseReuseSeconds?: number;
  /** Called with a lease's number of keys once it takes no more. */
  readonly leaseRetired?: (keys: number) => void;
  /** Time limit of a health check. */
  readonly healthTimeoutMs?: number;
  /** Limit of queued events per watch; above it, the watch reads from etcd by itself. */
  readonly watchQueueSize?: number;
}

const kv = '/etcdserverpb.KV/';
const nothing = Buffer.alloc(0);
const defaultLeaseReuseSeconds = 60;
/** 1.24's default of --etcd-healthcheck-timeout. */
const defaultHealthTimeoutMs = 2000;

export class EtcdStore implements Store {
  readonly #connection: EtcdConnection;
  readonly #options: EtcdStoreOptions;
  readonly #log: Logger;
  readonly #root: string;
  readonly #hub: Hub;
  readonly #leases: LeasePool;
  readonly #newest: SharedRead<Revision>;
  readonly #stop = new AbortController();
  /** Writes with guards on a server that joins no keys. */
  readonly #apart: WritesApart;
  #server: ServerKind | undefined;
  /** Revision of the progress key in the last response; 0: it does not exist. */
  #progressAt: Revision = 0n;
  /** The newest revision in any response. */
  #seen: Revision = 0n;

  constructor(options: EtcdStoreOptions) {
    this.#options = options;
    this.#log = options.log ?? silentLogger;
    this.#root = options.root ?? '/registry';
    const { endpoints, dial, tls, clock, random, tracer, callTimeoutMs = 5000, watchQueueSize = 4096 } = options;
    const connecting = { endpoints, dial, ...(tls && { tls }) };
    this.#connection = new EtcdConnection({ ...connecting, clock, random, callTimeoutMs, tracer });
    this.#newest = new SharedRead(() => this.#readRevision({ repeatable: true, prompt: true }));
    this.#leases = new LeasePool({
      clock,
      grant: (ttlSeconds) => this.#grant(ttlSeconds),
      reuseMaxSeconds: options.leaseReuseSeconds ?? defaultLeaseReuseSeconds,
      retired: options.leaseRetired ?? (() => {}),
    });
    this.#apart = new WritesApart({ storeOf: () => this, own: this, log: this.#log });
    const start = `${this.#root}/`;
    const end = prefixEnd(start);
    this.#hub = new Hub({
      start,
      end,
      clock,
      follow: (fromRevision, signal) => this.#follow({ start, end, fromRevision, signal }),
      seen: () => this.#seen,
      currentRevision: () => this.currentRevision(),
      writeProgress: () => this.#writeProgress(),
      queueSize: watchQueueSize,
    });
  }

  async range(options: RangeOptions): Promise<RangeResult> {
    const { signal, ...range } = options;
    return this.#range(range, signal);
  }

  create(key: string, value: Buffer, options: WriteOptions = {}): Promise<WriteResult> {
    return this.#put(key, value, 0n, options);
  }

  update(key: string, value: Buffer, expected: Revision, options: WriteOptions = {}): Promise<WriteResult> {
    return this.#put(key, value, expected, options);
  }

  delete(key: string, expected: Revision, options: DeleteOptions = {}): Promise<WriteResult> {
    return this.#write(key, expected, { type: 'delete' }, options);
  }

  watch(options: WatchOptions): AsyncIterable<WatchMessage> {
    const shared = options.previous !== true && this.#hub.covers(options.start, options.end);
    return shared ? this.#hub.watch(options) : this.#watchAlone(options);
  }

  requestProgress(start?: string): void {
    this.#hub.requestProgress(start);
  }

  currentRevision(signal?: Cancellation): Promise<Revision> {
    return signal === undefined ? this.#newest.read() : this.#revisionUnless(signal);
  }

  async compact(revision: Revision): Promise<void> {
    const request = compactionRequest(revision);
    await this.#call({ path: `${kv}Compact`, request, read: readRevision, repeatable: false });
  }

  async health(signal?: AbortSignal): Promise<void> {
    const { clock, healthTimeoutMs = defaultHealthTimeoutMs } = this.#options;
    const bounded = deadline(clock, healthTimeoutMs, signal);
    try {
      await this.#readRevision({ repeatable: false, signal: bounded.signal });
    } catch (err) {
      signal?.throwIfAborted();
      if (!bounded.signal.aborted) throw err;
      throw new StoreError('timeout', `etcd did not answer within ${healthTimeoutMs} ms`, { cause: err });
    } finally {
      bounded.release();
    }
  }

  async sizes(signal?: AbortSignal): Promise<ReadonlyMap<string, number>> {
    return this.#connection.callEach({
      path: '/etcdserverpb.Maintenance/Status',
      request: nothing,
      read: readDbSize,
      signal,
    });
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#hub.close();
    this.#connection.close();
  }

  async #revisionUnless(signal: Cancellation): Promise<Revision> {
    signal.throwIfAborted();
    const revision = await this.#newest.read();
    signal.throwIfAborted();
    return revision;
  }

  async #range(range: EtcdRange, signal: Cancellation | undefined): Promise<EtcdRangeResponse> {
    const request = rangeRequest(range);
    const response = await this.#call({
      path: `${kv}Range`,
      request,
      read: readRangeResponse,
      repeatable: true,
      signal,
    });
    this.#see(response.revision);
    return response;
  }

  /** A quorum read of a key that need not exist: only the response's header is used. */
  async #readRevision(how: Pick<Call<Revision>, 'repeatable' | 'prompt' | 'signal'>): Promise<Revision> {
    const server = this.#server ?? (await this.#ask(how.signal));
    const request = rangeRequest({ start: this.#root + server.revisionKey, keysOnly: true });
    const revision = await this.#call({ path: `${kv}Range`, request, read: readRevision, ...how });
    this.#see(revision);
    return revision;
  }

  #put(key: string, value: Buffer, expected: Revision, options: WriteOptions): Promise<WriteResult> {
    const { ttlSeconds } = options;
    return ttlSeconds === undefined
      ? this.#write(key, expected, { type: 'put', value, keepLease: expected > 0n }, options)
      : this.#putFor(ttlSeconds, key, value, expected, options);
  }

  async #putFor(
    ttlSeconds: number,
    key: string,
    value: Buffer,
    expected: Revision,
    options: WriteOptions,
  ): Promise<WriteResult> {
    const lease = await this.#leases.take(ttlSeconds);
    try {
      return await this.#write(key, expected, { type: 'put', value, lease }, options);
    } catch (err) {
      if (!(err instanceof Error && isLeaseNotFound(err.cause))) throw err;
      // The lease was revoked, or a backup was restored. Nothing was written.
      this.#leases.forget(ttlSeconds);
      return this.#write(key, expected, { type: 'put', value, lease: await this.#leases.take(ttlSeconds) }, options);
    }
  }

  async #write(key: string, expected: Revision, write: EtcdWrite, options: DeleteOptions): Promise<WriteResult> {
    const { guards = [], signal } = options;
    if (guards.length === 0 || (this.#server ?? (await this.#ask(signal))).joinsKeys) {
      return this.#writeAtOnce(key, expected, write, options);
    }
    const how = write.type === 'put' ? 'write' : 'delete';
    return this.#apart[how](guards, signal, () => this.#writeAtOnce(key, expected, write, { ...options, guards: [] }));
  }

  async #writeAtOnce(
    key: string,
    expected: Revision,
    write: EtcdWrite,
    { signal, guards = [] }: DeleteOptions,
  ): Promise<WriteResult> {
    const { succeeded, revision, current, guardRevisions } = await this.#call({
      path: `${kv}Txn`,
      request: conditionalWriteRequest({ key, expected, write, guards }),
      read: readConditionalWriteResponse,
      repeatable: false,
      signal,
    });
    this.#see(revision);
    if (succeeded) {
      if (this.#hub.covers(key, `${key}\0`)) this.#hub.wrote(revision);
      return { ok: true, revision };
    }
    const failedGuards = guards.filter((guard, i) => guardRevisions[i] !== guard.modRevision);
    return { ok: false, revision, ...(current && { current }), ...(failedGuards.length > 0 && { failedGuards }) };
  }

  #grant(ttlSeconds: number): Promise<bigint> {
    const request = leaseGrantRequest(ttlSeconds);
    // A lease that stays unused expires, so the call may be repeated.
    return this.#call({ path: '/etcdserverpb.Lease/LeaseGrant', request, read: readLeaseId, repeatable: true });
  }

  #follow(watch: WatchOptions): AsyncIterable<UpstreamBatch> {
    const { clock, random } = this.#options;
    const server = async () => this.#server ?? (await this.#ask());
    return upstream({ ...watch, connection: this.#connection, server, clock, random, log: this.#log });
  }

  /** A watch of its own, for ranges outside the root and for previous values. */
  async *#watchAlone(options: WatchOptions): AsyncGenerator<WatchMessage, void, void> {
    // Readers of previous values learn from an event that they have reached the present.
    if (options.previous === true) await this.#writeProgress();
    for await (const { events, revision } of this.#follow(options)) {
      yield events.length > 0 ? { type: 'events', events, revision } : { type: 'progress', revision };
    }
  }

  /** Conditionally, as kine drops other writes of an existing key. */
  async #writeProgress(): Promise<Revision> {
    const key = this.#root + progressKey;
    try {
      for (;;) {
        const request = conditionalWriteRequest({
          ...{ key, expected: this.#progressAt },
          write: { type: 'put', value: nothing },
        });
        const read = readConditionalWriteResponse;
        const answer = await this.#call({ path: `${kv}Txn`, request, read, repeatable: true });
        this.#progressAt = answer.succeeded ? answer.revision : (answer.current?.modRevision ?? 0n);
        if (answer.succeeded) return answer.revision;
      }
    } catch (err) {
      if (!this.#stop.signal.aborted) this.#log.info({ err }, 'cannot write the progress key');
      return 0n;
    }
  }

  /** Finds out what answers. */
  async #ask(signal?: Cancellation): Promise<ServerKind> {
    const request = rangeRequest({ start: this.#root, keysOnly: true });
    const server = await this.#call({ path: `${kv}Range`, request, read: readServerKind, repeatable: true, signal });
    if (this.#server === undefined && server.name === 'kine') this.#log.warn(kineWarning);
    this.#server ??= server;
    return server;
  }

  #call<T>(call: Call<T>): Promise<T> {
    return this.#connection.call(call);
  }

  #see(revision: Revision): void {
    if (revision > this.#seen) this.#seen = revision;
  }
}
