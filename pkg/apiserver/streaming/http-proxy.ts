/** One plain HTTP request to a backend; the answer is streamed. */

import { type ClientRequest, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { type Agent, request as httpsRequest } from 'node:https';
import { pipeline, Readable, type Transform } from 'node:stream';
import { createGunzip, createGzip } from 'node:zlib';
import type { Clock } from '#apimachinery/clock.js';
import { serviceUnavailable } from '#apimachinery/errors/status.js';
import type { ApiRequest, ApiResponse } from '#apiserver/http/exchange.js';
import { authority } from '#apiserver/service-routing/address.js';
import { reasonOf } from '#apiserver/service-routing/dial-failure.js';
import { type Backend, dialTarget, tlsOptions } from '#apiserver/streaming/backend.js';
import { type LinkContext, LinkRewriter, rewriteLink } from '#apiserver/streaming/html-links.js';
import { maxHeaderBytes } from '#daemon/serving/connection-limits.js';
import { endToEndHeaders, repeatableMethods } from '#daemon/streaming/forwarding.js';
import type { Tracer } from '#daemon/tracing/tracer.js';
import { IterableBody, SourceBody } from '#http/server/body.js';
import type { StreamedBody } from '#http/server/exchange.js';

/** Whole bodies are sent again where a kept connection turns out to be dead; longer ones are not kept for that. */
const wholeBytes = 256 * 1024;

export type PassedBody = Buffer | StreamedBody;

/** The body of a request that is passed on. Rejects with a StatusError. */
export async function bodyToPass(request: ApiRequest): Promise<PassedBody> {
  const { readBody, openBody, body, headers } = request;
  if (readBody === undefined || openBody === undefined) return body;
  const length = headers['content-length'];
  // What has no length may be one side of a conversation, whose other side is to hear each part of it at once.
  return length !== undefined && Number(length) <= wholeBytes ? readBody() : openBody();
}

function isWhole(body: PassedBody): body is Buffer {
  return Buffer.isBuffer(body);
}

/** How the body's end is found. Always said: Node.js says nothing for methods that mostly have no body. */
function framing(body: PassedBody): { 'transfer-encoding'?: string; 'content-length'?: string } {
  const { length } = body;
  if (length === undefined) return { 'transfer-encoding': 'chunked' };
  return length === 0 ? {} : { 'content-length': String(length) };
}

/** Sends the body as fast as the backend takes it; a client that breaks off breaks the request off. */
function send(body: PassedBody, outgoing: ClientRequest): void {
  if (isWhole(body)) {
    outgoing.end(body);
    return;
  }
  const { source } = body;
  source.on('error', (error) => outgoing.destroy(error));
  // The answer may be there before the body is.
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
  /** Of kept connections, for backends with TLS; absent: a connection of the request's own. */
  readonly agent?: Agent;
  /** Aborting it ends the request, and with it the streamed answer. */
  readonly signal: AbortSignal;
}

export interface ProxyRequest extends BackendRequest {
  /** Where this server passes requests on: before the links of pages that lead to the root of their host. */
  readonly links: LinkContext;
  /** An answer that breaks off breaks off for the client, too; absent: it gets what there was. */
  readonly whole?: boolean;
  /** Longest time that the body takes; absent: any. */
  readonly limit?: { readonly clock: Clock; readonly ms: number };
  /** Absent: nothing is traced. */
  readonly tracer?: Pick<Tracer, 'call'> | undefined;
}

/** For a connection to be made, TLS included: 1.24's. */
const dialMs = 30_000;

/** The backend's answer as its head arrives. Rejects with the network's error when it cannot be reached. */
export async function openRequest(request: BackendRequest): Promise<IncomingMessage> {
  const { agent: _, ...alone } = request;
  // A body that passes once needs a connection that is there for sure.
  const first = request.body === undefined || isWhole(request.body) ? request : alone;
  return attempt(first).catch((failure: Failure) => {
    // A kept connection that the backend has closed meanwhile.
    if (!failure.reused || !repeatableMethods.has(request.method) || request.signal.aborted) throw failure.error;
    return attempt(alone).catch((second: Failure) => {
      throw second.error;
    });
  });
}

interface Failure {
  readonly error: Error;
  /** It happened on a connection that had served before. */
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
    agent: agent ?? false,
    maxHeaderSize: maxHeaderBytes,
    timeout: dialMs,
  };
  return new Promise((resolve, reject) => {
    const { tls } = backend;
    const outgoing = tls === undefined ? httpRequest(options) : httpsRequest({ ...options, ...tlsOptions(tls) });
    outgoing.once('socket', (socket) => {
      const connected = () => outgoing.setTimeout(0);
      if (outgoing.reusedSocket) connected();
      else socket.once(tls === undefined ? 'connect' : 'secureConnect', connected);
    });
    outgoing.once('timeout', () => outgoing.destroy(new Error(`dial tcp ${authority(backend)}: i/o timeout`)));
    outgoing.once('response', resolve);
    // Node.js would close the connection, and tell nobody.
    outgoing.once('upgrade', ({ headers }, socket) => {
      socket.destroy();
      const protocol = JSON.stringify(headers.upgrade ?? '');
      const error = new Error(`backend tried to switch protocol ${protocol} when "" was requested`);
      reject({ error, reused: false } satisfies Failure);
    });
    // Once it has answered, failures are those of the answer's body.
    outgoing.on('error', (error) => reject({ error, reused: outgoing.reusedSocket } satisfies Failure));
    if (body === undefined) outgoing.end();
    else send(body, outgoing);
  });
}

/** Who is asked goes on with the trace; where it is not kept here, with what the client has said of it. */
function openTraced(request: ProxyRequest): Promise<IncomingMessage> {
  const { tracer, backend, method, path } = request;
  if (tracer === undefined) return openRequest(request);
  const attributes = {
    'http.method': method,
    // Not the query, in which there may be anything.
    'http.url': `${backend.tls === undefined ? 'http' : 'https'}://${authority(backend)}${path.split('?', 1)[0]}`,
  };
  const open = (traceparent: string | undefined) =>
    openRequest(traceparent === undefined ? request : { ...request, headers: { ...request.headers, traceparent } });
  return tracer.call({ name: `HTTP ${method}`, attributes }, open, ({ statusCode = 0 }) => ({
    attributes: { 'http.status_code': statusCode },
    failed: statusCode >= 400,
  }));
}

/** Passes the request on, and the answer back. Throws 503 when the backend cannot be reached. */
export async function proxyRequest(request: ProxyRequest): Promise<ApiResponse> {
  const response = await openTraced(request).catch((error: unknown) => {
    const why = reasonOf(error, authority(request.backend));
    // No time to wait is named: clients would only hide the failure behind their retries.
    throw serviceUnavailable(`error trying to reach service: ${why}`, 0);
  });
  const answer = answerOf(response);
  if (request.method === 'HEAD' || answer.status === 204 || answer.status === 304) {
    // There is no body, but Node.js wants that read before it lets go of the connection.
    response.resume();
    return withOwnLinks({ ...answer, body: undefined }, request);
  }
  if (request.whole !== true) return withOwnLinks(answer, request);
  return withOwnLinks({ ...answer, body: new IterableBody(wholeBody(response, request)) }, request);
}

/** The body as it arrives. Throws when it is not the whole one, or takes too long. */
async function* wholeBody(response: IncomingMessage, { limit }: ProxyRequest): AsyncGenerator<Buffer> {
  const timer = limit?.clock.setTimer(
    () => response.destroy(new Error(`the answer took longer than ${limit.ms} ms`)),
    limit.ms,
  );
  try {
    yield* response as AsyncIterable<Buffer>;
  } finally {
    timer?.cancel();
    response.destroy();
  }
}

/** Of answers of other origins; this server says itself who may read them. */
const corsHeaders = [
  'access-control-allow-credentials',
  'access-control-allow-headers',
  'access-control-allow-methods',
  'access-control-allow-origin',
];

/** Redirections and links of pages lead through the proxy, as in 1.24; pages in an encoding other than gzip stay. */
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
  return { ...answer, headers, body: new IterableBody(rewritten(body, steps)) };
}

async function* rewritten(body: AsyncIterable<Buffer>, steps: readonly Transform[]): AsyncGenerator<Buffer> {
  // A reader that leaves ends all of them, and a failure of one shows where the last is read.
  const last = pipeline([Readable.from(body, { objectMode: false }), ...steps], () => undefined);
  yield* last as unknown as AsyncIterable<Buffer>;
}

/** The backend's answer as this server's, with at most `limit` bytes of its body. */
export function answerOf(response: IncomingMessage, limit?: number): ApiResponse {
  const headers: Record<string, string> = {};
  // The only one that Node.js leaves apart.
  const { 'set-cookie': cookies, ...others } = response.headers;
  for (const [name, value] of Object.entries(endToEndHeaders(others)))
    headers[name] = Array.isArray(value) ? value.join(', ') : value;
  return { status: response.statusCode ?? 502, headers, cookies, body: new IterableBody(chunks(response, limit)) };
}

/** The body as it arrives. Ends without an error when the backend breaks off: the client got what there was. */
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
    // A stream that its reader ended, or that the other side reset: there is nobody left to tell.
    if (!response.destroyed && !response.aborted) throw error;
  } finally {
    response.destroy();
  }
}

/** The text of a short body, for messages. */
export async function bodyText(response: IncomingMessage, limit = 2048): Promise<string> {
  const parts: Buffer[] = [];
  for await (const chunk of chunks(response, limit)) parts.push(chunk);
  return Buffer.concat(parts).toString('utf8');
}
