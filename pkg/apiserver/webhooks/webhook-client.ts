/**
 * Asks webhooks over HTTPS: one POST of JSON, one answer of JSON. Whatever a webhook does, a call of it ends in time, holds a
 * bounded piece of memory and one connection. Redirections are not followed: they would lead the server's question to where
 * no configuration says it may go.
 */

import type { IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import type { SecureContext } from 'node:tls';
import type { WebhookClientConfig } from '#api/admissionregistration/v1/types.gen.js';
import { unlessAborted } from '#apimachinery/async/unless-aborted.js';
import type { Cancellation } from '#apimachinery/cancellation.js';
import type { Clock } from '#apimachinery/clock.js';
import { checkSize } from '#apimachinery/codec/json/size-limit.js';
import { parseJSONText } from '#apimachinery/codec/json/text.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { type Address, authority, type ServicePlace } from '#apiserver/service-routing/address.js';
import { reasonOf } from '#apiserver/service-routing/dial-failure.js';
import { ServiceUnreachableError } from '#apiserver/service-routing/service-resolver.js';
import { answerFailure, tooManyCalls, WebhookCallError } from '#apiserver/webhooks/call-error.js';
import type { Proof, Prover, WebhookCredentials } from '#apiserver/webhooks/credentials.js';
import { type Pool, Pools } from '#apiserver/webhooks/pools.js';
import type { Tracer } from '#daemon/tracing/tracer.js';

export interface WebhookClientOptions {
  readonly clock: Clock;
  /** Where a Service is. Rejects with a ServiceUnreachableError. */
  readonly resolve: (service: ServicePlace) => Promise<Address>;
  readonly lookup: LookupFunction;
  readonly userAgent: string;
  /** Calls of one target that may be under way; further ones fail at once. */
  readonly maxCalls: number;
  /** Absent: nothing is traced. */
  readonly tracer?: Pick<Tracer, 'call'> | undefined;
}

export interface WebhookCall {
  readonly config: WebhookClientConfig;
  /** JSON. */
  readonly body: Buffer;
  readonly timeoutMs: number;
  /** As whom; absent: as nobody. */
  readonly credentials?: WebhookCredentials | undefined;
  /** Ends the call when nobody waits for it any more. */
  readonly cancellation?: Cancellation;
  /** Of the answer; absent: as much as any review needs. */
  readonly maxAnswerBytes?: number;
}

/** A patch in base64 that replaces the largest object that a request may bring, and some words. */
const defaultAnswerBytes = 8 * 1024 * 1024;
/** Bytes that are read of an answer that is a failure. */
const failureBytes = 8192;

export class WebhookClient {
  readonly #options: WebhookClientOptions;
  readonly #pools = new Pools();

  constructor(options: WebhookClientOptions) {
    this.#options = options;
  }

  /**
   * The answer, parsed: some JSON of bounded size and number of parts, though it may nest deeply. Rejects with a
   * WebhookCallError, and with a StatusError of code 429 where too many calls are under way.
   */
  async post(call: WebhookCall): Promise<unknown> {
    const pool = this.#pools.of(call.config, call.credentials);
    const { maxCalls } = this.#options;
    if (pool.calls >= maxCalls) throw tooManyCalls(pool.target.url, pool.calls);
    pool.calls += 1;
    try {
      return await this.#traced(pool, call);
    } finally {
      pool.calls -= 1;
    }
  }

  close(): void {
    this.#pools.close();
  }

  #traced(pool: Pool, call: WebhookCall): Promise<unknown> {
    const { tracer } = this.#options;
    if (tracer === undefined) return this.#bounded(pool, call, undefined);
    const attributes = { 'http.method': 'POST', 'http.url': pool.target.url };
    return tracer.call({ name: 'HTTP POST', attributes }, (traceparent) => this.#bounded(pool, call, traceparent));
  }

  async #bounded(pool: Pool, call: WebhookCall, traceparent: string | undefined): Promise<unknown> {
    const { cancellation, timeoutMs } = call;
    const ending = new AbortController();
    let ended: WebhookCallError | undefined;
    const end = (failure: 'deadline' | 'canceled', words: string) => {
      ended ??= new WebhookCallError(failure, words, { code: failure === 'deadline' ? 504 : 499 });
      ending.abort();
    };
    const cancel = () => end('canceled', 'context canceled');
    const timer = this.#options.clock.setTimer(() => end('deadline', 'context deadline exceeded'), timeoutMs);
    if (cancellation?.aborted === true) cancel();
    cancellation?.addEventListener('abort', cancel, { once: true });
    const url = `${pool.target.url}?timeout=${Math.ceil(timeoutMs / 1000)}s`;
    try {
      return await this.#ask(pool, { call, traceparent, signal: ending.signal });
    } catch (error) {
      const cause = ended ?? error;
      if (!(cause instanceof WebhookCallError)) throw cause;
      if (cause.failure !== 'deadline' && cause.failure !== 'canceled' && cause.failure !== 'unreachable') throw cause;
      // As the original's library words it.
      const { failure, code } = cause;
      throw new WebhookCallError(failure, `Post ${JSON.stringify(url)}: ${cause.message}`, { code, cause: error });
    } finally {
      timer.cancel();
      cancellation?.removeEventListener('abort', cancel);
    }
  }

  async #ask(pool: Pool, asked: Asked): Promise<unknown> {
    const { call, signal } = asked;
    const { target } = pool;
    const { service } = target;
    const address = service === undefined ? target : await this.#locate(service, signal);
    const proof = pool.prover && (await unlessAborted(proven(pool.prover), signal));
    signal.throwIfAborted();
    const response = await this.#send(pool, { ...asked, address, proof });
    try {
      return await answerOf(response, call.maxAnswerBytes ?? defaultAnswerBytes);
    } catch (error) {
      // What is left of the answer is not waited for, and its connection is of no use any more.
      response.destroy();
      throw error instanceof WebhookCallError
        ? error
        : new WebhookCallError('unreachable', reasonOf(error, authority(address)), { cause: error });
    }
  }

  async #locate(service: ServicePlace, signal: AbortSignal): Promise<Address> {
    try {
      return await unlessAborted(this.#options.resolve(service), signal);
    } catch (error) {
      if (!(error instanceof ServiceUnreachableError)) throw error;
      throw new WebhookCallError('unreachable', error.message, { cause: error });
    }
  }

  async #send(pool: Pool, attempt: Attempt): Promise<IncomingMessage> {
    try {
      return await this.#sendOnce(pool, attempt);
    } catch (error) {
      // A kept connection may be closed by the other side just when it is used: then nobody has seen the question. The
      // others that are kept may be as dead.
      if (error instanceof StaleConnection && !attempt.signal.aborted)
        return await this.#sendOnce(pool, attempt, false);
      throw error;
    }
  }

  #sendOnce(
    { target, agent, trust }: Pool,
    { call, address, proof, signal, traceparent }: Attempt,
    kept = true,
  ): Promise<IncomingMessage> {
    const { userAgent, lookup } = this.#options;
    return new Promise((resolve, reject) => {
      const outgoing = httpsRequest({
        agent: kept ? agent : false,
        method: 'POST',
        host: address.host,
        port: address.port,
        path: `${target.path}?timeout=${Math.ceil(call.timeoutMs / 1000)}s`,
        servername: isIP(target.serverName) === 0 ? target.serverName : '',
        lookup,
        signal,
        ...secured(proof?.context ?? trust),
        headers: {
          ...proof?.headers,
          host: target.authority,
          'content-type': 'application/json',
          'content-length': call.body.length,
          accept: 'application/json, */*',
          'accept-encoding': 'identity',
          'user-agent': userAgent,
          ...(traceparent === undefined ? {} : { traceparent }),
        },
      });
      outgoing.once('response', resolve);
      outgoing.once('error', (error: NodeJS.ErrnoException) => {
        const wasKept = outgoing.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
        const failure = new WebhookCallError('unreachable', reasonOf(error, authority(address)), { cause: error });
        reject(wasKept ? new StaleConnection(failure) : failure);
      });
      outgoing.end(call.body);
    });
  }
}

interface Asked {
  readonly call: WebhookCall;
  readonly traceparent: string | undefined;
  readonly signal: AbortSignal;
}

interface Attempt extends Asked {
  readonly address: Address;
  readonly proof: Proof | undefined;
}

function secured(secureContext: SecureContext | undefined): { readonly secureContext?: SecureContext } {
  return secureContext === undefined ? {} : { secureContext };
}

/** Files that cannot be read make the webhook's configuration unusable, not the server. */
async function proven(prover: Prover): Promise<Proof> {
  try {
    return await prover.proof();
  } catch (error) {
    throw new WebhookCallError('unusable', messageOf(error), { cause: error });
  }
}

class StaleConnection extends WebhookCallError {
  constructor(failure: WebhookCallError) {
    super(failure.failure, failure.message, { cause: failure.cause });
  }
}

async function answerOf(response: IncomingMessage, maxBytes: number): Promise<unknown> {
  const code = response.statusCode ?? 0;
  if (code < 200 || code > 206) throw answerFailure(code, (await beginningOf(response)).toString());
  const encoding = response.headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity') {
    throw new WebhookCallError(
      'invalid',
      `the answer is encoded as ${JSON.stringify(encoding)}, which was not asked for`,
    );
  }
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw new WebhookCallError('invalid', `the answer is longer than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  const bytes = chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
  if (bytes.length === 0) {
    const type = response.headers['content-type'] ?? '';
    throw new WebhookCallError('invalid', `0-length response with status code: ${code} and content type: ${type}`);
  }
  try {
    checkSize(bytes);
    return parseJSONText(bytes.toString()) as unknown;
  } catch (error) {
    throw new WebhookCallError('invalid', `the answer cannot be read: ${messageOf(error)}`, { cause: error });
  }
}

/** Of a failure's text. The connection is given up where there is more. */
async function beginningOf(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= failureBytes) break;
  }
  return Buffer.concat(chunks).subarray(0, failureBytes);
}
