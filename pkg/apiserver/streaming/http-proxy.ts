/** Sends one plain HTTP request to a backend and streams the response. */
import { type ClientRequest, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { type Agent, request as httpsRequest } from 'node:https';
import { pipeline, Readable, type Transform } from 'node:stream';
import { createGunzip, createGzip } from 'node:zlib';
import type { Clock } from '#apimachinery/clock.js';
import { serviceUnavailable } from '#apimachinery/errors/status.js';
import type { ApiRequest, ApiResponse } from '#apiserver/http/exchange.js';
import { authority } from '#apiserver/service-routing/address.js';
import { reasonOf } from '#apiserver/service-routing/dial-failure.js';
import { agentOf, type Backend, dialTarget, tlsOptions } from '#apiserver/streaming/backend.js';
import { type LinkContext, LinkRewriter, rewriteLink } from '#apiserver/streaming/html-links.js';
import { maxHeaderBytes } from '#daemon/serving/connection-limits.js';
import { endToEndHeaders, repeatableMethods } from '#daemon/streaming/forwarding.js';
import type { Tracer } from '#daemon/tracing/tracer.js';
import { IterableBody, SourceBody } from '#http/server/body.js';
import type { StreamedBody } from '#http/server/exchange.js';

/** Bodies up to this size are buffered, so that they can be sent again when a keep-alive connection is stale. */
const wholeBytes = 256 * 1024;

export type PassedBody = Buffer | StreamedBody;

/** The body to forward. Rejects with a StatusError. */
export async function bodyToPass(request: ApiRequest): Promise<PassedBody> {
  const { readBody, openBody, body, headers } = request;
  if (readBody === undefined || openBody === undefined) return body;
  const length = headers['content-length'];
  // A body without a length may be interactive: forward each part at once.
  return length !== undefined && Number(length) <= wholeBytes ? readBody() : openBody();
}

function isWhole(body: PassedBody): body is Buffer {
  return Buffer.isBuffer(body);
}

/** Headers that frame the body. Always set: Node.js omits them for methods that usually have no body. */
function framing(body: PassedBody): { 'transfer-encoding'?: string; 'content-length'?: string } {
  const { length } = body;
  if (length === undefined) return { 'transfer-encoding': 'chunked' };
  return length === 0 ? {} : { 'content-length': String(length) };
}

/** Sends the body with backpressure; if the client aborts, the request is aborted. */
function send(body: PassedBody, outgoing: ClientRequest): void {
  if (isWhole(body)) {
    outgoing.end(body);
    return;
  }
  const { source } = body;
  source.on('error', (error) => outgoing.destroy(error));
  // The response may arrive before the body's end.
  outgoing.once('close', () => {
    source.unpipe(outgoing);
    body.leave();
  });
  source.pipe(outgoing);
}

export interface BackendRequest {
  readonly backend: Backend;
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: PassedBody;
  /** Pool of keep-alive connections, for backends with TLS; absent: a new connection. */
  readonly agent?: Agent;
  /** Aborts to end the request and the streamed response. */
  readonly signal: AbortSignal;
}

export interface ProxyRequest extends BackendRequest {
  /** The proxy's own path, for links of pages. */
  readonly links: LinkContext;
  /** True: a truncated response is an error for the client, too; absent: it simply ends. */
  readonly whole?: boolean;
  /** Time limit of the body; absent: none. */
  readonly limit?: { readonly clock: Clock; readonly ms: number };
  /** Absent: nothing is traced. */
  readonly tracer?: Pick<Tracer, 'call'> | undefined;
}

/** Time limit of connecting, TLS included; as in 1.24. */
const dialMs = 30_000;

/** Resolves with the head of the response. Rejects with the network error when the backend cannot be reached. */
export async function openRequest(request: BackendRequest): Promise<IncomingMessage> {
  const { agent: _, ...withoutAgent } = request;
  // A streamed body cannot be sent again, so it needs a new connection.
  const first = request.body === undefined || isWhole(request.body) ? request : withoutAgent;
  return attempt(first).catch((failure: Failure) => {
    // The backend has closed the keep-alive connection.
    if (!failure.reused || !repeatableMethods.has(request.method) || request.signal.aborted) throw failure.error;
    return attempt(withoutAgent).catch((second: Failure) => {
      throw second.error;
    });
  });
}

interface Failure {
  readonly error: Error;
  /** True if the connection had served requests before. */
  readonly reused: boolean;
}

function attempt(request: BackendRequest): Promise<IncomingMessage> {
  const { backend, method, path, body, signal, agent } = request;
  const headers = { ...request.headers, ...(body === undefined ? {} : framing(body)) };
  const options: RequestOptions = {
    ...dialTarget(backend),
    method,
    path,
    headers,
    signal,
    agent: agent ?? agentOf(backend),
    maxHeaderSize: maxHeaderBytes,
    timeout: dialMs,
  };
  return new Promise((resolve, reject) => {
    const { tls } = backend;
    const outgoing = tls === undefined ? httpRequest(options) : httpsRequest({ ...options, ...tlsOptions(tls) });
    outgoing.once('socket', (socket) => {
      const connected = () => outgoing.setTimeout(0);
      // A socket from another dialer is connected, but its handshake may not be over.
      if (outgoing.reusedSocket || (backend.dial !== undefined && tls === undefined)) connected();
      else socket.once(tls === undefined ? 'connect' : 'secureConnect', connected);
    });
    outgoing.once('timeout', () => outgoing.destroy(new Error(`dial tcp ${authority(backend)}: i/o timeout`)));
    outgoing.once('response', resolve);
    // Without this listener, Node.js would close the connection without an error.
    outgoing.once('upgrade', ({ headers }, socket) => {
      socket.destroy();
      const protocol = JSON.stringify(headers.upgrade ?? '');
      const error = new Error(`backend tried to switch protocol ${protocol} when "" was requested`);
      reject({ error, reused: false } satisfies Failure);
    });
    // After the response's head, errors show in its body.
    outgoing.on('error', (error) => reject({ error, reused: outgoing.reusedSocket } satisfies Failure));
    if (body === undefined) outgoing.end();
    else send(body, outgoing);
  });
}

/** Passes the trace on: its own span when this server records traces, the client's header otherwise. */
function openTraced(request: ProxyRequest): Promise<IncomingMessage> {
  const { tracer, backend, method, path } = request;
  if (tracer === undefined) return openRequest(request);
  const attributes = {
    'http.method': method,
    // Omit the query, which may contain secrets.
    'http.url': `${backend.tls === undefined ? 'http' : 'https'}://${authority(backend)}${path.split('?', 1)[0]}`,
  };
  const open = (traceparent: string | undefined) =>
    openRequest(traceparent === undefined ? request : { ...request, headers: { ...request.headers, traceparent } });
  return tracer.call({ name: `HTTP ${method}`, attributes }, open, ({ statusCode = 0 }) => ({
    attributes: { 'http.status_code': statusCode },
    failed: statusCode >= 400,
  }));
}

/** Forwards the request and returns the response. Throws 503 when the backend cannot be reached. */
export async function proxyRequest(request: ProxyRequest): Promise<ApiResponse> {
  const response = await openTraced(request).catch((error: unknown) => {
    const why = reasonOf(error, authority(request.backend));
    // Set no Retry-After: clients would retry and hide the failure.
    throw serviceUnavailable(`error trying to reach service: ${why}`, 0);
  });
  const answer = answerOf(response);
  if (request.method === 'HEAD' || answer.status === 204 || answer.status === 304) {
    // There is no body, but Node.js frees the connection only after reading it.
    response.resume();
    return withOwnLinks({ ...answer, body: undefined }, request);
  }
  if (request.whole !== true) return withOwnLinks(answer, request);
  return withOwnLinks({ ...answer, body: new IterableBody(wholeBody(response, request)) }, request);
}

/** Streams the body. Throws when it is truncated or exceeds the time limit. */
async function* wholeBody(response: IncomingMessage, { limit }: ProxyRequest): AsyncGenerator<Buffer> {
  const timer = limit?.clock.setTimer(
    () => response.destroy(new Error(`the response took longer than ${limit.ms} ms`)),
    limit.ms,
  );
  try {
    yield* response as AsyncIterable<Buffer>;
  } finally {
    timer?.cancel();
    response.destroy();
  }
}

/** Headers dropped from responses: this server sets its own CORS headers. */
const corsHeaders = [
  'access-control-allow-credentials',
  'access-control-allow-headers',
  'access-control-allow-methods',
  'access-control-allow-origin',
];

/** Rewrites redirections and links of pages to go through the proxy, like 1.24; only plain and gzip pages. */
function withOwnLinks(answer: ApiResponse, { links, method }: ProxyRequest): ApiResponse {
  const headers = { ...answer.headers };
  for (const name of corsHeaders) delete headers[name];
  if (headers['location'] !== undefined && headers['location'] !== '') {
    return { ...answer, headers: { ...headers, location: rewriteLink(headers['location'], links) } };
  }
  const type = headers['content-type']?.split(';', 1)[0]?.trim();
  const encoding = headers['content-encoding'] ?? '';
  const { body } = answer;
  if (
    type !== 'text/html' ||
    method === 'HEAD' ||
    !(body instanceof SourceBody) ||
    (encoding !== '' && encoding !== 'gzip')
  ) {
    return { ...answer, headers };
  }
  delete headers['content-length'];
  const steps =
    encoding === 'gzip' ? [createGunzip(), new LinkRewriter(links), createGzip()] : [new LinkRewriter(links)];
  return { ...answer, headers, body: new IterableBody(rewriteBody(body, steps)) };
}

async function* rewriteBody(body: AsyncIterable<Buffer>, steps: readonly Transform[]): AsyncGenerator<Buffer> {
  // When the reader stops, all steps end; an error of any step shows in the last one.
  const last = pipeline([Readable.from(body, { objectMode: false }), ...steps], () => undefined);
  yield* last as unknown as AsyncIterable<Buffer>;
}

/** Converts the backend's response, with at most `limit` bytes of its body. */
export function answerOf(response: IncomingMessage, limit?: number): ApiResponse {
  const headers: Record<string, string> = {};
  // This is the only header that Node.js does not join.
  const { 'set-cookie': cookies, ...others } = response.headers;
  for (const [name, value] of Object.entries(endToEndHeaders(others)))
    headers[name] = Array.isArray(value) ? value.join(', ') : value;
  return { status: response.statusCode ?? 502, headers, cookies, body: new IterableBody(chunks(response, limit)) };
}

/** Streams the body. A truncated body ends without an error. */
export async function* chunks(response: IncomingMessage, limit = Number.POSITIVE_INFINITY): AsyncGenerator<Buffer> {
  let left = limit;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      const part = chunk.length > left ? chunk.subarray(0, left) : chunk;
      yield part;
      left -= part.length;
      if (left <= 0) return;
    }
  } catch (error) {
    // The reader has stopped, or the backend has reset the connection: not an error.
    if (!response.destroyed && !response.aborted) throw error;
  } finally {
    response.destroy();
  }
}

/** The beginning of the body, for messages. */
export async function bodyText(response: IncomingMessage, limit = 2048): Promise<string> {
  const parts: Buffer[] = [];
  for await (const chunk of chunks(response, limit)) parts.push(chunk);
  return Buffer.concat(parts).toString('utf8');
}
