/** Requests of the page and of its worker to their own host, with the user's credentials. */
import { browserClock } from '#dashboard/client/platform/browser-clock.js';
import { type Requests, withQuery } from '#dashboard/live/requests.js';
import type { Credentials } from '#dashboard/model/messages.js';
import { type FailureStatus, RequestError } from '#dashboard/model/trouble.js';

export interface SendOptions {
  readonly accept?: string;
  readonly contentType?: string;
  readonly body?: string;
  readonly signal?: AbortSignal;
}

const maxRepeats = 4;
const repeatMs = 200;
/** Other sites cannot set it without a preflight, which is refused. */
const ownHeader = { 'x-orch-dashboard': '1' };

export class HttpRequests implements Requests {
  readonly #credentials: Credentials;
  /** The server no longer accepts the credentials. */
  readonly #refused: () => void;

  constructor(credentials: Credentials, refused: () => void = () => undefined) {
    this.#credentials = credentials;
    this.#refused = refused;
  }

  async json<T>(path: string, options: { readonly accept?: string; readonly signal?: AbortSignal } = {}): Promise<T> {
    const response = await this.#fetch('GET', path, options);
    return (await response.json()) as T;
  }

  async send<T>(method: string, path: string, options: SendOptions = {}): Promise<T> {
    const response = await this.#fetch(method, path, options);
    return (await response.json()) as T;
  }

  async text(path: string): Promise<string> {
    return (await this.#fetch('GET', path, { accept: '*/*' })).text();
  }

  async *lines(
    path: string,
    { accept = '*/*', signal }: { readonly accept?: string; readonly signal: AbortSignal },
  ): AsyncIterable<string> {
    let rest = '';
    const pieces =
      this.#credentials.kind === 'cookie' ? tunnelled(path, accept, signal) : this.#streamed(path, accept, signal);
    for await (const piece of pieces) {
      const lines = (rest + piece).split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
    if (rest !== '') yield rest;
  }

  /** A WebSocket below the API. The token travels as a subprotocol, because browsers set no headers there. */
  socket(path: string, protocols: readonly string[], tokenPrefix: string): WebSocket {
    const url = new URL(path, location.href);
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
    const { kind } = this.#credentials;
    const more = kind === 'bearer' ? [`${tokenPrefix}${base64Url(this.#credentials.token)}`] : [];
    return new WebSocket(url, [...protocols, ...more]);
  }

  async *#streamed(path: string, accept: string, signal: AbortSignal): AsyncIterable<string> {
    const response = await this.#fetch('GET', path, { accept, signal });
    if (response.body === null) return;
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        yield value;
      }
    } finally {
      await reader.cancel().catch(() => undefined);
    }
  }

  async #fetch(method: string, path: string, options: SendOptions): Promise<Response> {
    const response = await this.#repeated(method, path, options);
    if (response.ok) return response;
    if (response.status === 401) this.#refused();
    throw failureOf(response.status, await response.text());
  }

  /** Reads are repeated after failures of the network: a browser gives up on all requests whenever an interface changes. */
  async #repeated(method: string, path: string, options: SendOptions): Promise<Response> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#once(method, path, options);
      } catch (error) {
        if (method !== 'GET' || tries > maxRepeats || options.signal?.aborted === true) throw error;
        await browserClock.sleep(repeatMs * tries, options.signal);
      }
    }
  }

  #once(method: string, path: string, options: SendOptions): Promise<Response> {
    const { accept = 'application/json', contentType, body, signal } = options;
    const credentials = this.#credentials;
    return fetch(path, {
      method,
      headers: {
        ...ownHeader,
        accept,
        ...(contentType === undefined ? {} : { 'content-type': contentType }),
        ...(credentials.kind === 'bearer' && credentials.token !== ''
          ? { authorization: `Bearer ${credentials.token}` }
          : {}),
      },
      ...(body === undefined ? {} : { body }),
      ...(signal === undefined ? {} : { signal }),
      cache: 'no-store',
      redirect: 'error',
      credentials: 'same-origin',
    });
  }
}

export function failureOf(code: number, text: string): RequestError {
  try {
    const status = JSON.parse(text) as FailureStatus;
    if (typeof status.message === 'string') return new RequestError(code, status.message, status);
  } catch {
    // Plain text of a proxy or an old endpoint.
  }
  return new RequestError(code, text.trim() === '' ? `the server answered with status ${code}` : text.trim());
}

interface StreamHead {
  readonly status: number;
  readonly body?: string;
}

/** One response in a WebSocket of the loopback server: first its status, then its body. */
async function* tunnelled(path: string, accept: string, signal: AbortSignal): AsyncIterable<string> {
  signal.throwIfAborted();
  const url = new URL(withQuery('/ui/stream', { path, accept }), location.href);
  url.protocol = 'ws:';
  const socket = new WebSocket(url);
  const waiting: string[] = [];
  let failure: Error | undefined;
  let isOver = false;
  let wake: () => void = () => undefined;
  socket.onmessage = ({ data }: MessageEvent<string>) => {
    waiting.push(data);
    wake();
  };
  socket.onclose = ({ code, reason }) => {
    isOver = true;
    if (code !== 1000) failure = new RequestError(0, reason === '' ? 'the connection to the server is lost' : reason);
    wake();
  };
  const abort = () => socket.close();
  signal.addEventListener('abort', abort, { once: true });
  let head: StreamHead | undefined;
  try {
    for (;;) {
      for (let message = waiting.shift(); message !== undefined; message = waiting.shift()) {
        if (head === undefined) {
          head = JSON.parse(message) as StreamHead;
          if (head.status >= 400) throw failureOf(head.status, head.body ?? '');
        } else yield message;
      }
      if (isOver) break;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    signal.throwIfAborted();
    if (failure !== undefined) throw failure;
  } finally {
    signal.removeEventListener('abort', abort);
    socket.close();
  }
}

function base64Url(text: string): string {
  const bytes = new TextEncoder().encode(text);
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '');
}
