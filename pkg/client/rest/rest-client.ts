/** The client: typed verbs over a transport, with rate limit, retries and metrics. */

import { type Clock, pauseClock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { toJSONText } from '#apimachinery/json-text.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { ApiObject, Client, RequestOptions, ResourceClient } from '#client/client.js';
import { noRequestMetrics, type RequestMetrics } from '#client/rest/metrics.js';
import { jsonMediaType, type ObjectEncoding } from '#client/rest/object-encoding.js';
import { encodingFor } from '#client/rest/protobuf-encoding.js';
import { type ClientRequest, type RequestSender, RestResourceClient } from '#client/rest/resource-client.js';
import { errorFrom, readAll } from '#client/rest/response.js';
import { errorRetryMs, responseRetryMs } from '#client/rest/retry.js';
import type { Transport, TransportResponse } from '#client/rest/transport.js';
import { TokenBucket } from '#client/token-bucket.js';
import type { SpanOutcome, Tracer } from '#daemon/tracing/tracer.js';
import { isTransportError, TransportError } from '#http/client/transport-error.js';

export interface RestClientOptions {
  readonly transport: Transport;
  readonly dialect: Dialect;
  readonly clock: Clock;
  /** Requests per second; zero, negative or absent: no limit. */
  readonly qps?: number;
  /** Requests before the rate limit applies; default: 10. */
  readonly burst?: number;
  readonly userAgent?: string;
  readonly metrics?: RequestMetrics;
  /** Encoding of objects; default: JSON. */
  readonly encoding?: ObjectEncoding;
  /** Absent: writes belong to no leader's term. */
  readonly fence?: WriteFence;
  /** Traces requests as part of the current work; absent: no tracing. */
  readonly tracer?: Pick<Tracer, 'call'>;
}

/**
 * Returns headers for each write; called after the wait for the rate limit, and again right before the first byte is
 * sent. Throws if the write must not be sent.
 */
export type WriteFence = () => Readonly<Record<string, string>>;

const readMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

type Attempt = { kind: 'answer'; response: TransportResponse } | { kind: 'failure'; error: unknown };

export class RestClient implements Client, RequestSender {
  readonly dialect: Dialect;
  readonly encoding: ObjectEncoding;
  readonly #transport: Transport;
  readonly #clock: Clock;
  readonly #bucket: TokenBucket;
  readonly #userAgent: string;
  readonly #metrics: RequestMetrics;
  readonly #fence: WriteFence | undefined;
  readonly #tracer: Pick<Tracer, 'call'> | undefined;

  constructor(options: RestClientOptions) {
    this.dialect = options.dialect;
    this.encoding = options.encoding ?? encodingFor(jsonMediaType, options.dialect);
    this.#transport = options.transport;
    this.#clock = options.clock;
    this.#bucket = new TokenBucket({ qps: options.qps ?? 0, burst: options.burst ?? 10, clock: options.clock });
    this.#userAgent = options.userAgent ?? `${options.dialect.product}-client/${options.dialect.version}`;
    this.#metrics = options.metrics ?? noRequestMetrics;
    this.#fence = options.fence;
    this.#tracer = options.tracer;
  }

  resource<T extends ApiObject>(type: ResourceType<T>): ResourceClient<T> {
    return new RestResourceClient<T>(this, type);
  }

  async request<R>(method: string, path: string, body?: unknown, options: RequestOptions = {}): Promise<R> {
    return (await this.value({
      method,
      path,
      body: body === undefined ? undefined : toJSONText(body),
      contentType: options.contentType,
      signal: options.signal,
      maxBytes: options.maxBytes,
    })) as R;
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  /** Sends the request and decodes its response. Throws StatusError and TransportError. */
  async value(request: ClientRequest): Promise<unknown> {
    const response = await this.open(request);
    return this.encoding.decode(response.headers['content-type'], await readAll(response.body, request.maxBytes));
  }

  /**
   * Sends the request, with retries. Returns a successful response with its body unread. Throws StatusError and
   * TransportError.
   */
  async open(request: ClientRequest): Promise<TransportResponse> {
    for (let retries = 0; ; retries += 1) {
      await this.#waitForToken(request);
      const attempt = await this.#attempt(request);
      const waitMs =
        attempt.kind === 'answer'
          ? responseRetryMs(attempt.response, retries)
          : errorRetryMs(attempt.error, request.method, retries);
      if (waitMs === undefined) {
        if (attempt.kind === 'failure') throw attempt.error;
        if (attempt.response.status < 400) return attempt.response;
        throw errorFrom(attempt.response, await readAll(attempt.response.body, request.maxBytes), this.encoding);
      }
      if (attempt.kind === 'answer') await readAll(attempt.response.body, request.maxBytes);
      await pauseClock(this.#clock).sleep(waitMs, request.signal);
      throwIfAborted(request);
    }
  }

  async #attempt(request: ClientRequest): Promise<Attempt> {
    const verb = request.verb ?? request.method;
    const startedAt = this.#clock.monotonic();
    const recordEnd = (code: string) =>
      this.#metrics.finished(verb, request.method, code, this.#clock.monotonic() - startedAt);
    try {
      const fence = readMethods.has(request.method) ? undefined : this.#fence;
      const headers: Record<string, string> = {
        accept: request.accept ?? jsonMediaType,
        'user-agent': this.#userAgent,
        ...fence?.(),
      };
      if (request.body !== undefined) headers['content-type'] = request.contentType ?? jsonMediaType;
      const response = await this.#send(request, headers, fence);
      recordEnd(String(response.status));
      return { kind: 'answer', response };
    } catch (error) {
      recordEnd('<error>');
      return { kind: 'failure', error };
    }
  }

  #send(request: ClientRequest, headers: Record<string, string>, fence?: WriteFence): Promise<TransportResponse> {
    if (this.#tracer === undefined) return this.#sendNow(request, headers, fence);
    const { method, path } = request;
    const attributes = { 'http.method': method, 'http.target': path.split('?', 1)[0] ?? '' };
    const send = (traceparent: string | undefined) => {
      const tracedHeaders = traceparent === undefined ? headers : { ...headers, traceparent };
      return this.#sendNow(request, tracedHeaders, fence);
    };
    return this.#tracer.call({ name: `HTTP ${method}`, attributes }, send, outcomeOf);
  }

  #sendNow(request: ClientRequest, headers: Record<string, string>, fence?: WriteFence): Promise<TransportResponse> {
    return this.#transport.request({
      method: request.method,
      path: request.path,
      headers,
      ...(request.body === undefined ? {} : { body: request.body }),
      ...(request.signal === undefined ? {} : { signal: request.signal }),
      // The term may end while the request waits for a connection.
      ...(fence === undefined ? {} : { beforeSending: () => void fence() }),
    });
  }

  async #waitForToken(request: ClientRequest): Promise<void> {
    throwIfAborted(request);
    const startedAt = this.#clock.monotonic();
    try {
      await this.#bucket.take(request.signal);
    } catch (error) {
      if (isTransportError(error)) throw error;
      throw new TransportError('Aborted', 'request aborted while it waited for the rate limiter', { cause: error });
    }
    const waitedMs = this.#clock.monotonic() - startedAt;
    if (waitedMs > 0) this.#metrics.waited(request.verb ?? request.method, waitedMs);
  }
}

/** Attributes as in OpenTelemetry's HTTP conventions: for a client, status 400 and above is a failure. */
function outcomeOf({ status }: TransportResponse): SpanOutcome {
  return { attributes: { 'http.status_code': status }, failed: status >= 400 };
}

function throwIfAborted(request: ClientRequest): void {
  if (request.signal?.aborted) throw new TransportError('Aborted', 'request aborted', { cause: request.signal.reason });
}
