/**
 * Calls webhooks over HTTPS: a POST of JSON with a response of JSON. A call is limited in time and memory and uses one connection.
 * Redirections are not followed: they would send the request to a server that no configuration names.
 */

import type { IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import type { SecureContext } from 'node:tls';
import type { WebhookClientConfig } from '#api/admissionregistration/v1/types.gen.js';
import { unlessAborted } from '#apimachinery/async/abort.js';
import { inSteps, type Pause } from '#apimachinery/async/steps.js';
import type { Cancellation } from '#apimachinery/cancellation.js';
import type { Clock } from '#apimachinery/clock.js';
import { checkSize } from '#apimachinery/codec/json/size-limit.js';
import { parseJSONSteps } from '#apimachinery/codec/json/text.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { type Address, authority, type ServicePlace } from '#apiserver/service-routing/address.js';
import { reasonOf } from '#apiserver/service-routing/dial-failure.js';
import { ServiceUnreachableError } from '#apiserver/service-routing/service-resolver.js';
import { responseFailure, tooManyCalls, WebhookCallError } from '#apiserver/webhooks/call-error.js';
import type { CallCredentials, CredentialSource, WebhookCredentials } from '#apiserver/webhooks/credentials.js';
import { type Pool, Pools, type WebhookDials } from '#apiserver/webhooks/pools.js';
import type { Tracer } from '#daemon/tracing/tracer.js';
import { DialedHttpsAgent } from '#http/client/dialed-agent.js';

export interface WebhookClientOptions {
  readonly clock: Clock;
  /** Resolves a Service. Rejects with a ServiceUnreachableError. */
  readonly resolve: (service: ServicePlace) => Promise<Address>;
  readonly lookup: LookupFunction;
  /** Open connections; absent: directly. */
  readonly dials?: WebhookDials;
  readonly userAgent: string;
  /** Called while a large answer is parsed; absent: answers are parsed at once. */
  readonly pause?: Pause;
  /** Limit of concurrent calls of one target; additional calls fail at once. */
  readonly maxCalls: number;
  /** Absent: nothing is traced. */
  readonly tracer?: Pick<Tracer, 'call'> | undefined;
}

export interface WebhookCall {
  readonly config: WebhookClientConfig;
  /** Body of the request, as JSON. */
  readonly body: Buffer;
  readonly timeoutMs: number;
  /** Absent: calls without credentials. */
  readonly credentials?: WebhookCredentials | undefined;
  /** Ends the call when the caller no longer waits. */
  readonly cancellation?: Cancellation;
  /** Limit of the response; absent: enough for any review. */
  readonly maxAnswerBytes?: number;
}

/** Enough for a base64 patch that replaces the largest object of a request. */
const defaultResponseBytes = 8 * 1024 * 1024;
/** Limit of bytes read of an error response. */
const failureBytes = 8192;

export class WebhookClient {
  readonly #options: WebhookClientOptions;
  readonly #pools: Pools;

  constructor(options: WebhookClientOptions) {
    this.#options = options;
    this.#pools = new Pools(options.dials);
  }

  /**
   * The parsed response: JSON of bounded size and number of parts, though it may be nested deeply. Rejects with a
   * WebhookCallError, and with a StatusError of code 429 at the limit of concurrent calls.
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
      // The message is that of Go's HTTP client.
      const { failure, code } = cause;
      throw new WebhookCallError(failure, `Post ${JSON.stringify(url)}: ${cause.message}`, { code, cause: error });
    } finally {
      timer.cancel();
      cancellation?.removeEventListener('abort', cancel);
    }
  }

  async #ask(pool: Pool, attempt: CallAttempt): Promise<unknown> {
    const { call, signal } = attempt;
    const { target } = pool;
    const { service } = target;
    const address = service === undefined ? target : await this.#locate(service, signal);
    const callCredentials =
      pool.credentialSource && (await unlessAborted(currentCredentials(pool.credentialSource), signal));
    signal.throwIfAborted();
    const response = await this.#send(pool, { ...attempt, address, callCredentials });
    try {
      const { pause = atOnce } = this.#options;
      return await answerOf(response, call.maxAnswerBytes ?? defaultResponseBytes, pause);
    } catch (error) {
      // Close the connection: it cannot be reused, as the rest of the response is not read.
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

  async #send(pool: Pool, attempt: AddressedAttempt): Promise<IncomingMessage> {
    try {
      return await this.#sendOnce(pool, attempt);
    } catch (error) {
      // The server may close a keep-alive connection just when it is used; it has not seen the request then. Other idle
      // connections may be stale, too, so use a new one.
      if (error instanceof StaleConnection && !attempt.signal.aborted)
        return await this.#sendOnce(pool, attempt, false);
      throw error;
    }
  }

  #sendOnce(
    { target, agent, trust, dial }: Pool,
    { call, address, callCredentials, signal, traceparent }: AddressedAttempt,
    kept = true,
  ): Promise<IncomingMessage> {
    const { userAgent, lookup } = this.#options;
    return new Promise((resolve, reject) => {
      const outgoing = httpsRequest({
        agent: kept ? agent : dial !== undefined && new DialedHttpsAgent(dial),
        method: 'POST',
        host: address.host,
        port: address.port,
        path: `${target.path}?timeout=${Math.ceil(call.timeoutMs / 1000)}s`,
        servername: isIP(target.serverName) === 0 ? target.serverName : '',
        lookup,
        signal,
        ...secured(callCredentials?.context ?? trust),
        headers: {
          ...callCredentials?.headers,
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

interface CallAttempt {
  readonly call: WebhookCall;
  readonly traceparent: string | undefined;
  readonly signal: AbortSignal;
}

interface AddressedAttempt extends CallAttempt {
  readonly address: Address;
  readonly callCredentials: CallCredentials | undefined;
}

function secured(secureContext: SecureContext | undefined): { readonly secureContext?: SecureContext } {
  return secureContext === undefined ? {} : { secureContext };
}

/** The credentials for a call; unreadable files make only this webhook unusable. */
async function currentCredentials(credentialSource: CredentialSource): Promise<CallCredentials> {
  try {
    return await credentialSource.callCredentials();
  } catch (error) {
    throw new WebhookCallError('unusable', messageOf(error), { cause: error });
  }
}

class StaleConnection extends WebhookCallError {
  constructor(failure: WebhookCallError) {
    super(failure.failure, failure.message, { cause: failure.cause });
  }
}

const atOnce: Pause = () => undefined;

async function answerOf(response: IncomingMessage, maxBytes: number, pause: Pause): Promise<unknown> {
  const code = response.statusCode ?? 0;
  if (code < 200 || code > 206) throw responseFailure(code, (await beginningOf(response)).toString());
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
    return await inSteps(parseJSONSteps(bytes), pause);
  } catch (error) {
    throw new WebhookCallError('invalid', `the answer cannot be read: ${messageOf(error)}`, { cause: error });
  }
}

/** Reads at most `failureBytes`, and closes the connection if there is more. */
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
