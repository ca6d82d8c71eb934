/** Calls to etcd over gRPC: which endpoint, for how long, and what may be tried again. */
import {
  type ChannelCredentials,
  Client,
  type ClientDuplexStream,
  connectivityState,
  credentials,
  Metadata,
} from '@grpc/grpc-js';
import type { Clock } from '#apimachinery/clock.js';
import { translateEtcdError } from '#storage/etcd/errors.js';
import { WireReader } from '#storage/etcd/wire.js';
import { StoreError } from '#storage/store.js';

export interface EtcdTls {
  /** PEM. Absent: the system's authorities. */
  readonly ca?: Buffer;
  /** PEM of the client's certificate and key, both or none. */
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

export interface ConnectionOptions {
  /** `http://127.0.0.1:2379`, `https://…`; at least one. */
  readonly endpoints: readonly string[];
  readonly tls?: EtcdTls;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Longest time of one call. */
  readonly callTimeoutMs: number;
}

export interface Call<T> {
  /** `/etcdserverpb.KV/Range` */
  readonly path: string;
  readonly request: Buffer;
  readonly read: (reader: WireReader) => T;
  /** May be sent again after a failure whose outcome is unknown. */
  readonly repeatable: boolean;
  readonly signal?: AbortSignal | undefined;
}

const retryBaseMs = 20;
const retryMaxMs = 500;
/** How long a call is tried again while no endpoint can be reached, as long as its own time allows. */
const retryForMs = 2000;

const channelOptions = {
  // Answers are bounded by the paging of those who ask; gRPC's own 4 MiB would fail on large pages.
  'grpc.max_receive_message_length': -1,
  'grpc.max_send_message_length': -1,
  'grpc.initial_reconnect_backoff_ms': 50,
  'grpc.max_reconnect_backoff_ms': 1000,
  // A dead peer is noticed within 30 s + 10 s, as by 1.24's client.
  'grpc.keepalive_time_ms': 30_000,
  'grpc.keepalive_timeout_ms': 10_000,
  'grpc.use_local_subchannel_pool': 1,
};

const asIs = (bytes: Buffer): Buffer => bytes;

export class EtcdConnection {
  readonly #options: ConnectionOptions;
  readonly #clients: readonly Client[];
  #current = 0;
  #closed = false;

  constructor(options: ConnectionOptions) {
    if (options.endpoints.length === 0) throw new TypeError('at least one etcd endpoint is needed');
    this.#options = options;
    this.#clients = options.endpoints.map((endpoint) => {
      const url = new URL(endpoint);
      return new Client(url.host, channelCredentials(url, options.tls), channelOptions);
    });
    this.#current = Math.floor(options.random() * this.#clients.length);
  }

  /** Throws StoreErrors, or the signal's reason once it aborts. */
  async call<T>(call: Call<T>): Promise<T> {
    const { clock, random, callTimeoutMs } = this.#options;
    const startedMs = clock.monotonic();
    for (let attempt = 0; ; attempt++) {
      call.signal?.throwIfAborted();
      const { client, sendable } = this.#pick();
      const leftMs = callTimeoutMs - (clock.monotonic() - startedMs);
      try {
        // Nothing is sent over a broken connection, so that a write which fails here surely did not happen.
        if (!sendable) throw new StoreError('unavailable', 'no connection to etcd');
        return await this.#send(client, call, leftMs);
      } catch (err) {
        call.signal?.throwIfAborted();
        const error = translateEtcdError(err);
        if (error.code === 'unavailable') this.#moveOn(client);
        const again = error.code === 'unavailable' && (call.repeatable || !sendable) && !this.#closed;
        const delayMs = Math.min(retryMaxMs, retryBaseMs * 2 ** attempt) * (0.5 + random());
        const spentMs = clock.monotonic() - startedMs + delayMs;
        if (!again || spentMs > Math.min(retryForMs, callTimeoutMs)) throw error;
        await clock.sleep(delayMs, call.signal);
      }
    }
  }

  /** Opens a stream of bytes in both directions; it fails like any gRPC stream, and `failed` moves to another endpoint. */
  open(path: string): { stream: ClientDuplexStream<Buffer, Buffer>; failed: () => void } {
    if (this.#closed) throw new StoreError('unavailable', 'the store is closed');
    const { client } = this.#pick();
    const metadata = new Metadata();
    // A member that has lost its leader ends the stream instead of going silent.
    metadata.set('hasleader', 'true');
    const stream = client.makeBidiStreamRequest(path, asIs, asIs, metadata, {});
    return { stream, failed: () => this.#moveOn(client) };
  }

  close(): void {
    this.#closed = true;
    for (const client of this.#clients) client.close();
  }

  #send<T>(client: Client, call: Call<T>, timeoutMs: number): Promise<T> {
    return new Promise((resolve, reject) => {
      const deadline = new Date(this.#options.clock.now() + Math.max(1, timeoutMs));
      const { path, request, read, signal } = call;
      const running = client.makeUnaryRequest(path, asIs, asIs, request, { deadline }, (err, response) => {
        signal?.removeEventListener('abort', cancel);
        if (err !== null) return reject(err);
        try {
          resolve(read(new WireReader(response ?? Buffer.alloc(0))));
        } catch (cause) {
          reject(cause);
        }
      });
      const cancel = () => running.cancel();
      signal?.addEventListener('abort', cancel, { once: true });
    });
  }

  /** The endpoint in use, or the next one that is not known to be down. */
  #pick(): { client: Client; sendable: boolean } {
    if (this.#closed) throw new StoreError('unavailable', 'the store is closed');
    for (let i = 0; i < this.#clients.length; i++) {
      const at = (this.#current + i) % this.#clients.length;
      const client = this.#clients[at] as Client;
      const state = client.getChannel().getConnectivityState(true);
      if (state === connectivityState.TRANSIENT_FAILURE || state === connectivityState.SHUTDOWN) continue;
      this.#current = at;
      return { client, sendable: true };
    }
    return { client: this.#clients[this.#current] as Client, sendable: false };
  }

  #moveOn(client: Client): void {
    if (this.#clients[this.#current] === client) this.#current = (this.#current + 1) % this.#clients.length;
  }
}

function channelCredentials(url: URL, tls: EtcdTls | undefined): ChannelCredentials {
  if (url.protocol === 'http:') return credentials.createInsecure();
  if (url.protocol !== 'https:') throw new TypeError(`etcd endpoint ${url.href} is neither http nor https`);
  return credentials.createSsl(tls?.ca ?? null, tls?.key ?? null, tls?.cert ?? null);
}
