/** Asks extension API servers for their OpenAPI documents: within a time and a size, and only for what is new. */
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
  /** Rejects with the reason why the Service cannot be reached. */
  readonly resolve: (place: ServicePlace) => Promise<Address>;
}

export interface Fetched {
  /** Of the bytes. */
  readonly hash: string;
  readonly etag: string;
  /** Parsed JSON, of bounded size and number of parts. */
  readonly value: unknown;
}

const answerMs = 10_000;
const okStatus = 200;
const unchangedStatus = 304;
const missingStatus = 404;

export class DocumentClient {
  readonly #options: DocumentClientOptions;

  constructor(options: DocumentClientOptions) {
    this.#options = options;
  }

  /** Undefined: the server has none there. The very `known` one: nothing is new. Rejects with what went wrong. */
  async fetch(
    remote: RemoteService,
    path: string,
    { known, maxBytes, signal }: { readonly known?: Fetched | undefined; maxBytes: number; signal: AbortSignal },
  ): Promise<Fetched | undefined> {
    const { clock, connections, dialect, resolve } = this.#options;
    const late = new AbortController();
    const timer = clock.setTimer(() => late.abort(new Error(`no document in ${answerMs / 1000} s`)), answerMs);
    const ending = AbortSignal.any([signal, late.signal]);
    try {
      const { agent, tls } = connections.channel(remote);
      const backend = { ...(await resolve(remote.service)), tls };
      const user = { name: dialect.users.aggregator, groups: [dialect.groups.masters] };
      const headers = {
        ...userHeaders(user),
        accept: 'application/json',
        'accept-encoding': 'identity',
        ...(known === undefined || known.etag === '' ? {} : { 'if-none-match': known.etag }),
      };
      const response = await openRequest({ backend, agent, method: 'GET', path, headers, signal: ending });
      return await take(response, known, maxBytes);
    } catch (error) {
      throw late.signal.aborted ? late.signal.reason : error;
    } finally {
      timer.cancel();
    }
  }
}

async function take(
  response: IncomingMessage,
  known: Fetched | undefined,
  maxBytes: number,
): Promise<Fetched | undefined> {
  const { statusCode = 0 } = response;
  if (statusCode !== okStatus) {
    response.destroy();
    if (statusCode === missingStatus) return undefined;
    if (statusCode === unchangedStatus && known !== undefined) return known;
    throw new Error(`the server answered with ${statusCode}`);
  }
  const digest = createHash('sha256');
  const parts: Buffer[] = [];
  let size = 0;
  // A loop that is left closes the connection.
  for await (const part of response as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > maxBytes) throw new Error(`the document is longer than ${maxBytes} bytes`);
    digest.update(part);
    parts.push(part);
  }
  const hash = digest.digest('hex').toUpperCase();
  if (hash === known?.hash) return known;
  const bytes = Buffer.concat(parts, size);
  checkSize(bytes);
  return { hash, etag: response.headers.etag ?? '', value: JSON.parse(bytes.toString()) as unknown };
}
