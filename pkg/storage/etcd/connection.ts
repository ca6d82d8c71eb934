/** Calls to etcd over gRPC: selects endpoints, limits time, and repeats calls that may be repeated. */

import { setImmediate as endOfTurn } from 'node:timers/promises';
import { exponentialDelayMs, spreadAround } from '#apimachinery/backoff/backoff.js';
import type { Cancellation } from '#apimachinery/cancellation.js';
import type { Clock } from '#apimachinery/clock.js';
import type { CallSpan, Tracer } from '#daemon/tracing/tracer.js';
import type { Dial } from '#http/client/dial.js';
import type { Message } from '#http/grpc/frames.js';
import { GrpcError } from '#http/grpc/status.js';
import { readLeader, readTerm, WireReader } from '#storage/etcd/answers.js';
import { isLearnersRefusal, translateEtcdError } from '#storage/etcd/errors.js';
import type { GrpcStream } from '#storage/etcd/grpc/call.js';
import { type EndpointTls, type EndpointTlsSource, GrpcEndpoint } from '#storage/etcd/grpc/endpoint.js';
import { type LeaderState, OvertakenWrites } from '#storage/etcd/overtaken-writes.js';
import { StoreError } from '#storage/store.js';

export type EtcdTls = EndpointTls | EndpointTlsSource;

export interface ConnectionOptions {
  /** `http://127.0.0.1:2379`, `https://…`; at least one. */
  readonly endpoints: readonly string[];
  readonly tls?: EtcdTls;
  /** Opens connections; absent: by TCP. */
  readonly dial?: Dial | undefined;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Time limit of a call. */
  readonly callTimeoutMs: number;
  /** Absent: no tracing. */
  readonly tracer?: Pick<Tracer, 'call'> | undefined;
}

export interface Call<T> {
  /** `/etcdserverpb.KV/Range` */
  readonly path: string;
  readonly request: Message;
  readonly read: (reader: WireReader) => T;
  /** True if the call may be sent again after a failure with unknown outcome. */
  readonly repeatable: boolean;
  /** See UnaryCall. */
  readonly prompt?: boolean | undefined;
  readonly signal?: Cancellation | undefined;
}

const retryBaseMs = 20;
const retryMaxMs = 500;
/** Time limit of retries while no endpoint is reachable, within the call's own limit. */
const retryForMs = 2000;
const statusPath = '/etcdserverpb.Maintenance/Status';
const statusMs = 1000;
const noBytes = Buffer.alloc(0);
/** A member without a leader ends the stream instead of going silent. */
const streamMetadata = { hasleader: 'true' };

/** Span of a call; names and attributes follow OpenTelemetry's conventions for gRPC. */
function spanOf(path: string): CallSpan {
  const [, service = '', method = ''] = path.split('/');
  const attributes = { 'rpc.system': 'grpc', 'rpc.service': service, 'rpc.method': method };
  return { name: path.slice(1), attributes };
}

export class EtcdConnection {
  readonly #options: ConnectionOptions;
  readonly #endpoints: readonly GrpcEndpoint[];
  #current = 0;
  #closed = false;
  readonly #overtaken: OvertakenWrites<GrpcEndpoint>;
  /** The leader's term in the last write's response; 0: unknown. */
  #term = 0;

  constructor(options: ConnectionOptions) {
    if (options.endpoints.length === 0) throw new TypeError('at least one etcd endpoint is needed');
    this.#options = options;
    const { dial, tls, clock, random } = options;
    this.#endpoints = options.endpoints.map((url) => new GrpcEndpoint({ url, tls, clock, random, dial }));
    this.#current = Math.floor(options.random() * this.#endpoints.length);
    this.#overtaken = new OvertakenWrites({ clock, readLeader: (endpoint) => this.#readLeader(endpoint) });
  }

  /** Throws StoreErrors, or the signal's reason when it aborts. */
  call<T>(call: Call<T>): Promise<T> {
    const { tracer } = this.#options;
    if (tracer === undefined) return this.#call(call, undefined);
    return tracer.call(spanOf(call.path), (traceparent) => this.#call(call, traceparent));
  }

  async #call<T>(call: Call<T>, traceparent: string | undefined): Promise<T> {
    const { clock, random, callTimeoutMs } = this.#options;
    const { path, request, prompt, signal } = call;
    const startedMs = clock.monotonic();
    for (let attempt = 0; ; attempt++) {
      signal?.throwIfAborted();
      const endpoint = this.#pick();
      const timeoutMs = callTimeoutMs - (clock.monotonic() - startedMs);
      try {
        const answer = endpoint.unary({ path, request, timeoutMs, prompt, signal, traceparent });
        if (call.repeatable) return call.read(new WireReader(await answer));
        const bytes = await this.#overtaken.watch(endpoint, this.#term, answer);
        this.#term = readTerm(new WireReader(bytes));
        return call.read(new WireReader(bytes));
      } catch (err) {
        signal?.throwIfAborted();
        const error = translateEtcdError(err);
        if (error.code === 'unavailable') this.#moveOn(endpoint);
        const surelyNotDone = err instanceof GrpcError && (!err.sent || isLearnersRefusal(err));
        const again = error.code === 'unavailable' && (call.repeatable || surelyNotDone) && !this.#closed;
        const delayMs = spreadAround(exponentialDelayMs(attempt, retryBaseMs, retryMaxMs), 0.5, random);
        const spentMs = clock.monotonic() - startedMs + delayMs;
        if (!again || spentMs > Math.min(retryForMs, callTimeoutMs)) throw error;
        await clock.sleep(delayMs, signal);
      }
    }
  }

  /** Calls every endpoint once; responses by URL, without failed endpoints. Throws the signal's reason. */
  async callEach<T>({ path, request, read, signal }: Omit<Call<T>, 'repeatable'>): Promise<Map<string, T>> {
    const timeoutMs = this.#options.callTimeoutMs;
    const ask = async (endpoint: GrpcEndpoint): Promise<[string, T][]> => {
      try {
        return [[endpoint.url, read(new WireReader(await endpoint.unary({ path, request, timeoutMs, signal })))]];
      } catch (err) {
        // An unreachable member has no response.
        if (!(err instanceof GrpcError)) throw err;
        return [];
      }
    };
    if (this.#closed) throw new StoreError('unavailable', 'the store is closed');
    const answers = await Promise.all(this.#endpoints.map(ask));
    signal?.throwIfAborted();
    return new Map(answers.flat());
  }

  /** Opens a bidirectional stream; `failed` moves to another endpoint. Throws GrpcErrors. */
  async open(path: string): Promise<{ stream: GrpcStream; failed: () => void }> {
    const endpoint = this.#pick();
    try {
      return { stream: await endpoint.stream(path, streamMetadata), failed: () => this.#moveOn(endpoint) };
    } catch (error) {
      this.#moveOn(endpoint);
      throw error;
    }
  }

  close(): void {
    this.#closed = true;
    for (const endpoint of this.#endpoints) endpoint.close();
  }

  async #readLeader(endpoint: GrpcEndpoint): Promise<LeaderState | undefined> {
    try {
      const answer = await endpoint.unary({ path: statusPath, request: noBytes, timeoutMs: statusMs });
      return readLeader(new WireReader(answer));
    } catch (err) {
      // An unreachable member fails the write by itself.
      if (!(err instanceof GrpcError)) throw err;
      return undefined;
    }
  }

  /** The current endpoint, or the next one that is not known to be down. */
  #pick(): GrpcEndpoint {
    if (this.#closed) throw new StoreError('unavailable', 'the store is closed');
    for (let i = 0; i < this.#endpoints.length; i++) {
      const at = (this.#current + i) % this.#endpoints.length;
      const endpoint = this.#endpoints[at] as GrpcEndpoint;
      if (!endpoint.usable) continue;
      this.#current = at;
      return endpoint;
    }
    return this.#endpoints[this.#current] as GrpcEndpoint;
  }

  #moveOn(endpoint: GrpcEndpoint): void {
    if (this.#endpoints[this.#current] === endpoint) this.#current = (this.#current + 1) % this.#endpoints.length;
  }
}

/** Limit of event loop turns that wait for more callers of a shared read, while their number grows. */
const maxTurns = 4;

/**
 * One read shared by all waiting callers. A caller never gets a read that began before its call, since that may miss a
 * write acknowledged just before; later callers share the next read. Reads run one at a time, so slow reads are shared
 * by more callers.
 */
export class SharedRead<T> {
  readonly #read: () => Promise<T>;
  #running: Promise<unknown> | undefined;
  #next: Promise<T> | undefined;
  /** Callers of the next read. */
  #sharing = 0;

  /** `read` must send its request immediately. */
  constructor(read: () => Promise<T>) {
    this.#read = read;
  }

  read(): Promise<T> {
    this.#sharing++;
    this.#next ??= this.#gathered();
    return this.#next;
  }

  async #gathered(): Promise<T> {
    await this.#running;
    let sharing: number;
    let turns = 0;
    do {
      sharing = this.#sharing;
      await endOfTurn();
      turns++;
    } while (this.#sharing > sharing && turns < maxTurns);
    this.#next = undefined;
    this.#sharing = 0;
    const reading = this.#read();
    const over = () => {
      this.#running = undefined;
    };
    this.#running = reading.then(over, over);
    return reading;
  }
}
