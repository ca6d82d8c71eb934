/**
 * The server of a kubeconfig file: audit events, token reviews, access reviews and image reviews are POSTed to exactly the address
 * that the file names. Calls are limited in time, number and memory, and repeated with back-off, as in 1.24.
 */
import { Backoff } from '#apimachinery/backoff/backoff.js';
import type { Clock } from '#apimachinery/clock.js';
import { checkSize } from '#apimachinery/codec/json/size-limit.js';
import { parseJSONText } from '#apimachinery/codec/json/text.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { lostConnection, refusedCall } from '#apiserver/webhooks/backend/failures.js';
import { tooManyCalls, WebhookCallError } from '#apiserver/webhooks/call-error.js';
import type { Transport, TransportResponse } from '#client/rest/transport.js';

export interface WebhookBackendOptions {
  readonly transport: Transport;
  /** Address of the server, with the path that requests go to. */
  readonly url: URL;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Delay before the second attempt; it grows by half with each further one. Absent: 500 ms. */
  readonly initialBackoffMs?: number;
  /** Repeats calls after every failure, not only after those that pass by themselves. */
  readonly retriesAll?: boolean;
  /** Time limit of all attempts together; absent: none. */
  readonly totalMs?: number;
  /** Limit of concurrent calls; further ones fail at once. Absent: none. */
  readonly maxCalls?: number;
}

/** 1.24's DefaultRetryBackoff. */
const defaultBackoffMs = 500;
const factor = 1.5;
const jitter = 0.2;
const attempts = 5;
/** Time limit of an attempt, the response's body included, as in 1.24. */
const timeoutMs = 30_000;
/** Enough for any review. */
const maxAnswerBytes = 1024 * 1024;
/** Limit of bytes read of an answer that only its status code counts of, or that is a refusal. */
const maxIgnoredBytes = 64 * 1024;

type Read = 'answer' | 'status';

export class WebhookBackend {
  readonly #options: WebhookBackendOptions;
  readonly #closing = new AbortController();
  /** Path and query below the transport's address. */
  readonly #path: string;
  readonly #shownUrl: string;
  #calls = 0;

  constructor(options: WebhookBackendOptions) {
    this.#options = options;
    const { url } = options;
    // Like in 1.24's client, the query of the address is left out.
    this.#path = `${url.pathname === '/' ? '/' : ''}?timeout=${timeoutMs / 1000}s`;
    this.#shownUrl = `${url.origin}${url.pathname.replace(/(?<=.)\/$/, '')}?timeout=${timeoutMs / 1000}s`;
  }

  /**
   * The answer: parsed JSON of bounded size. Rejects with a WebhookCallError of the last attempt, and with a StatusError of code
   * 429 at the limit of concurrent calls.
   */
  async ask(body: string): Promise<unknown> {
    return parsed(await this.#limited(body, 'answer'));
  }

  /** Like `ask`, but only the answer's status code counts. */
  async send(body: string): Promise<void> {
    await this.#limited(body, 'status');
  }

  /** Ends calls and their retries. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#options.transport.close();
  }

  async #limited(body: string, read: Read): Promise<Answer> {
    const { maxCalls = Number.POSITIVE_INFINITY, url } = this.#options;
    if (this.#calls >= maxCalls) throw tooManyCalls(`${url.origin}${url.pathname}`, this.#calls);
    this.#calls += 1;
    try {
      return await this.#repeated(body, read);
    } finally {
      this.#calls -= 1;
    }
  }

  async #repeated(body: string, read: Read): Promise<Answer> {
    const { clock, random, initialBackoffMs = defaultBackoffMs, retriesAll = false, totalMs } = this.#options;
    const endMs = clock.monotonic() + (totalMs ?? Number.POSITIVE_INFINITY);
    const backoff = new Backoff({ initialMs: initialBackoffMs, maxMs: timeoutMs, factor, jitter, random });
    for (let attempt = 1; ; attempt += 1) {
      let pauseMs = backoff.nextMs();
      try {
        return await this.#once(body, read, Math.min(timeoutMs, endMs - clock.monotonic()));
      } catch (error) {
        if (!(error instanceof WebhookCallError)) throw error;
        const isOver = attempt === attempts || this.#closing.signal.aborted || !(retriesAll || error.passes);
        pauseMs = Math.max(pauseMs, error.retryAfterMs);
        if (isOver || clock.monotonic() + pauseMs >= endMs) throw error;
        await clock.sleep(pauseMs, this.#closing.signal);
        if (this.#closing.signal.aborted) throw error;
      }
    }
  }

  async #once(body: string, read: Read, limitMs: number): Promise<Answer> {
    const { transport, clock } = this.#options;
    const ending = new AbortController();
    const close = () => ending.abort();
    let late = false;
    const timer = clock.setTimer(() => {
      late = true;
      ending.abort();
    }, limitMs);
    this.#closing.signal.addEventListener('abort', close, { once: true });
    try {
      const response = await transport.request({
        method: 'POST',
        path: this.#path,
        headers: { 'content-type': 'application/json', accept: 'application/json, */*' },
        body,
        signal: ending.signal,
      });
      const { status } = response;
      const isRefused = status < 200 || status > 206;
      const bytes = await bytesOf(response, isRefused || read === 'status');
      if (isRefused) throw refusedCall(status, bytes.toString(), response.headers['retry-after']);
      return { status, type: response.headers['content-type'] ?? 'application/json', bytes };
    } catch (error) {
      if (error instanceof WebhookCallError) throw error;
      throw lostConnection(error, { url: this.#shownUrl, server: this.#options.url, late });
    } finally {
      timer.cancel();
      this.#closing.signal.removeEventListener('abort', close);
    }
  }
}

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly bytes: Buffer;
}

/** `cuts`: only the beginning is read of a long body. Throws WebhookCallError for a longer answer. */
async function bytesOf({ body }: TransportResponse, cuts: boolean): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > maxAnswerBytes && !cuts) {
      throw new WebhookCallError('invalid', `the answer is longer than ${maxAnswerBytes} bytes`);
    }
    chunks.push(chunk);
    if (cuts && size > maxIgnoredBytes) break;
  }
  return Buffer.concat(chunks);
}

function parsed({ status, type, bytes }: Answer): unknown {
  if (bytes.length === 0) {
    throw new WebhookCallError('invalid', `0-length response with status code: ${status} and content type: ${type}`);
  }
  try {
    checkSize(bytes);
    return parseJSONText(bytes.toString()) as unknown;
  } catch (error) {
    throw new WebhookCallError('invalid', `the answer cannot be read: ${messageOf(error)}`, { cause: error });
  }
}
