/** One way to an API server, and over it as many clients as there are purposes, each with a rate of its own. */
import type { Registry } from 'prom-client';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { ClientConfig } from '#client/rest/client-config.js';
import { encodingFor } from '#client/rest/encoding-for.js';
import { HttpTransport } from '#client/rest/http-transport.js';
import { requestMetrics } from '#client/rest/metrics.js';
import type { ObjectEncoding } from '#client/rest/object-encoding.js';
import { RestClient, type WriteFence } from '#client/rest/rest-client.js';
import type { Tracer } from '#daemon/tracing/tracer.js';
import type { TlsMaterial, TlsSource, TokenSource } from '#http/client/credentials.js';

export interface ConnectionOptions {
  readonly dialect: Dialect;
  readonly clock: Clock;
  /** The daemon's name, as the server sees it. */
  readonly program: string;
  /** Requests per second of each client; zero or negative: no limit. */
  readonly qps: number;
  /** Requests at once before the rate holds, of each client. */
  readonly burst: number;
  readonly metrics?: Registry;
  /** Media type of objects; JSON unless told. */
  readonly contentType?: string;
  /** Objects in Protobuf are read without `managedFields`. */
  readonly withoutManagers?: boolean;
  /** Of every client. */
  readonly fence?: WriteFence;
  /** Of what requests are a part of; absent: nothing is traced. */
  readonly tracer?: Pick<Tracer, 'call'> | undefined;
}

export interface ClientChoices extends Partial<Pick<ConnectionOptions, 'qps' | 'burst'>> {
  /** False: its requests are on behalf of many, and so part of no trace. */
  readonly traced?: boolean;
}

export class Connection {
  readonly #config: ClientConfig;
  readonly #options: ConnectionOptions;
  readonly #transport: HttpTransport;
  readonly #encoding: ObjectEncoding;
  readonly #others: Connection[] = [];

  /**
   * Opens nothing before the first request. Throws TypeError for an address that is no URL, and for a content type that
   * is not supported. `encoding`: that of the connection which this one is made of; its memory of what objects share
   * takes megabytes.
   */
  constructor(config: ClientConfig, options: ConnectionOptions, encoding?: ObjectEncoding) {
    this.#config = config;
    this.#options = options;
    this.#encoding = encoding ?? encodingFor(options.contentType ?? '', options.dialect, options);
    const { namespace: _, ...target } = config;
    this.#transport = new HttpTransport({ ...target, clock: options.clock });
  }

  /**
   * A client with a rate of its own, that of the connection unless told; `purpose` follows the program's name in what
   * the server sees.
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

  /** To the same server, which is trusted for the same reason, with a token instead of every other credential. */
  as(token: TokenSource): Connection {
    const { tls, headers: _, ...rest } = this.#config;
    const config: ClientConfig = { ...rest, token, ...(tls === undefined ? {} : { tls: new TrustOnly(tls) }) };
    const other = new Connection(config, this.#options, this.#encoding);
    this.#others.push(other);
    return other;
  }

  /**
   * To the same server, for clients whose writes belong to a term of leading. Closed with this one, and reset without
   * harm to it: the lock is renewed over another connection than the work has.
   */
  fenced(fence: WriteFence): Connection {
    const other = new Connection(this.#config, { ...this.#options, fence }, this.#encoding);
    this.#others.push(other);
    return other;
  }

  /** Drops what is under way, here and in every connection made of this one, so that nothing of it is sent any more. */
  reset(): void {
    for (const other of this.#others) other.reset();
    this.#transport.reset();
  }

  /** Ends what is under way, here and in every connection made of this one. Idempotent. */
  async close(): Promise<void> {
    await Promise.all(this.#others.map((other) => other.close()));
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
    // The same object again says that nothing changed.
    if (this.#last?.whole !== whole) this.#last = { whole, part: { ca: whole.ca } };
    return this.#last.part;
  }
}
