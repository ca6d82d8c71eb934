/** A connection to an API server, shared by several clients with separate rate limits. */
import type { Registry } from 'prom-client';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { ClientConfig } from '#client/rest/client-config.js';
import { HttpTransport } from '#client/rest/http-transport.js';
import { requestMetrics } from '#client/rest/metrics.js';
import type { ObjectEncoding } from '#client/rest/object-encoding.js';
import { encodingFor } from '#client/rest/protobuf-encoding.js';
import { RestClient, type WriteFence } from '#client/rest/rest-client.js';
import type { Tracer } from '#daemon/tracing/tracer.js';
import type { TlsMaterial, TlsSource, TokenSource } from '#http/client/credentials.js';

export interface ConnectionOptions {
  readonly dialect: Dialect;
  readonly clock: Clock;
  /** The daemon's name in the user agent. */
  readonly program: string;
  /** Requests per second of each client; zero or negative: no limit. */
  readonly qps: number;
  /** Burst of each client. */
  readonly burst: number;
  readonly metrics?: Registry;
  /** Media type of objects; default: JSON. */
  readonly contentType?: string;
  /** Drop `managedFields` when reading Protobuf objects. */
  readonly withoutManagers?: boolean;
  /** Fence of all clients. */
  readonly fence?: WriteFence;
  /** Traces requests as part of the current work; absent: no tracing. */
  readonly tracer?: Pick<Tracer, 'call'> | undefined;
}

export interface ClientChoices extends Partial<Pick<ConnectionOptions, 'qps' | 'burst'>> {
  /** False: its requests serve many tasks, so they belong to no trace. */
  readonly traced?: boolean;
}

export class Connection {
  readonly #config: ClientConfig;
  readonly #options: ConnectionOptions;
  readonly #transport: HttpTransport;
  readonly #encoding: ObjectEncoding;
  readonly #derived: Connection[] = [];

  /**
   * Connects on the first request. Throws TypeError for an invalid URL or unsupported content type. `encoding`: the parent
   * connection's, shared because its cache of common object parts takes megabytes.
   */
  constructor(config: ClientConfig, options: ConnectionOptions, encoding?: ObjectEncoding) {
    this.#config = config;
    this.#options = options;
    this.#encoding = encoding ?? encodingFor(options.contentType ?? '', options.dialect, options);
    const { namespace: _, ...target } = config;
    this.#transport = new HttpTransport({ ...target, clock: options.clock });
  }

  /**
   * A client with its own rate limit, by default the connection's; `purpose` follows the program's name in the user agent.
   */
  client(purpose: string, choices: ClientChoices = {}): RestClient {
    const { dialect, clock, program, qps, burst, metrics, fence, tracer } = this.#options;
    return new RestClient({
      transport: this.#transport,
      dialect,
      clock,
      qps: choices.qps ?? qps,
      burst: choices.burst ?? burst,
      encoding: this.#encoding,
      userAgent: `${program}/${dialect.version} ${purpose}`,
      ...(metrics === undefined ? {} : { metrics: requestMetrics(metrics, new URL(this.#config.server).host) }),
      ...(fence === undefined ? {} : { fence }),
      ...(tracer === undefined || choices.traced === false ? {} : { tracer }),
    });
  }

  /** A connection to the same server with the same trust, but with a token instead of all other credentials. */
  as(token: TokenSource): Connection {
    const { tls, headers: _, ...rest } = this.#config;
    const config: ClientConfig = { ...rest, token, ...(tls === undefined ? {} : { tls: new TrustOnly(tls) }) };
    const derived = new Connection(config, this.#options, this.#encoding);
    this.#derived.push(derived);
    return derived;
  }

  /**
   * A connection to the same server for clients whose writes belong to a leader's term. Closed with this one, but reset
   * independently: the lock is renewed over a different connection than the leader's work.
   */
  fenced(fence: WriteFence): Connection {
    const derived = new Connection(this.#config, { ...this.#options, fence }, this.#encoding);
    this.#derived.push(derived);
    return derived;
  }

  /** Aborts requests in flight here and in derived connections, so that nothing more is sent. */
  reset(): void {
    for (const other of this.#derived) other.reset();
    this.#transport.reset();
  }

  /** Closes this and all derived connections. Idempotent. */
  async close(): Promise<void> {
    await Promise.all(this.#derived.map((other) => other.close()));
    await this.#transport.close();
  }
}

/** The authorities of another source without its client certificate. */
class TrustOnly implements TlsSource {
  readonly #source: TlsSource;
  #last: { readonly whole: TlsMaterial; readonly part: TlsMaterial } | undefined;

  constructor(source: TlsSource) {
    this.#source = source;
  }

  async current(): Promise<TlsMaterial> {
    const whole = await this.#source.current();
    // Returning the same object signals that nothing changed.
    if (this.#last?.whole !== whole) this.#last = { whole, part: { ca: whole.ca } };
    return this.#last.part;
  }
}
