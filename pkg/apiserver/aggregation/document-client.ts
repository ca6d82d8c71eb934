/** Fetches OpenAPI documents of extension API servers, limited in time and size, and only if they have changed. */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Clock } from '#apimachinery/clock.js';
import { checkSize } from '#apimachinery/codec/json/size-limit.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Connections } from '#apiserver/aggregation/connections.js';
import type { RemoteService } from '#apiserver/aggregation/remote-service.js';
import { userHeaders } from '#apiserver/aggregation/user-headers.js';
import type { Address, ServicePlace } from '#apiserver/service-routing/address.js';
import { openRequest } from '#apiserver/streaming/http-proxy.js';

export interface DocumentClientOptions {
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly connections: Connections;
  /** Rejects if the Service cannot be reached. */
  readonly resolve: (place: ServicePlace) => Promise<Address>;
}

export interface FetchedDocument {
  /** Digest of the bytes. */
  readonly hash: string;
  readonly etag: string;
  /** Parsed JSON, of bounded size and number of parts. */
  readonly value: unknown;
}

const responseMs = 10_000;
const okStatus = 200;
const unchangedStatus = 304;
const missingStatus = 404;

export class DocumentClient {
  readonly #options: DocumentClientOptions;

  constructor(options: DocumentClientOptions) {
    this.#options = options;
  }

  /** Returns undefined if the server has no such document, and the `cached` instance if it has not changed. */
  async fetch(
    remote: RemoteService,
    path: string,
    {
      cached,
      maxBytes,
      signal,
    }: { readonly cached?: FetchedDocument | undefined; maxBytes: number; signal: AbortSignal },
  ): Promise<FetchedDocument | undefined> {
    const { clock, connections, dialect, resolve } = this.#options;
    const timeout = new AbortController();
    const timer = clock.setTimer(() => timeout.abort(new Error(`no document in ${responseMs / 1000} s`)), responseMs);
    const ending = AbortSignal.any([signal, timeout.signal]);
    try {
      const { agent, dial, tls } = connections.channel(remote);
      const backend = { ...(await resolve(remote.service)), tls, dial };
      const user = { name: dialect.users.aggregator, groups: [dialect.groups.masters] };
      const headers = {
        ...userHeaders(user),
        accept: 'application/json',
        'accept-encoding': 'identity',
        ...(cached === undefined || cached.etag === '' ? {} : { 'if-none-match': cached.etag }),
      };
      const response = await openRequest({ backend, agent, method: 'GET', path, headers, signal: ending });
      return await readDocument(response, cached, maxBytes);
    } catch (error) {
      throw timeout.signal.aborted ? timeout.signal.reason : error;
    } finally {
      timer.cancel();
    }
  }
}

async function readDocument(
  response: IncomingMessage,
  cached: FetchedDocument | undefined,
  maxBytes: number,
): Promise<FetchedDocument | undefined> {
  const { statusCode = 0 } = response;
  if (statusCode !== okStatus) {
    response.destroy();
    if (statusCode === missingStatus) return undefined;
    if (statusCode === unchangedStatus && cached !== undefined) return cached;
    throw new Error(`the server answered with ${statusCode}`);
  }
  const digest = createHash('sha256');
  const parts: Buffer[] = [];
  let size = 0;
  // Leaving the loop closes the connection.
  for await (const part of response as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > maxBytes) throw new Error(`the document is longer than ${maxBytes} bytes`);
    digest.update(part);
    parts.push(part);
  }
  const hash = digest.digest('hex').toUpperCase();
  if (hash === cached?.hash) return cached;
  const bytes = Buffer.concat(parts, size);
  checkSize(bytes);
  return { hash, etag: response.headers.etag ?? '', value: JSON.parse(bytes.toString()) as unknown };
}
