/** An exchange with an extender: JSON request and answer, bounded in time and size. */
import type { Clock } from '#apimachinery/clock.js';
import { HttpTransport } from '#client/rest/http-transport.js';
import { parseJson, readAll } from '#client/rest/response.js';
import type { Transport } from '#client/rest/transport.js';
import { FileTls, type TlsSource } from '#http/client/credentials.js';
import { type ProxyEnvironment, proxyFromEnvironment } from '#http/client/proxy.js';
import { TransportError } from '#http/client/transport-error.js';
import type { ExtenderSettings } from '#scheduler/extenders/settings.js';

export interface ConnectionOptions {
  readonly clock: Clock;
  /** Proxy variables. */
  readonly env: ProxyEnvironment;
}

/** Limit for answers to small requests. Larger requests allow twice their size: answers only repeat node names. */
const minAnswerBytes = 16 * 1024 * 1024;

export class ExtenderConnection {
  /** The extender's URL without credentials. */
  readonly url: string;
  readonly #transport: Transport;
  readonly #timeoutMs: number;
  readonly #clock: Clock;

  /** Throws TypeError for an invalid URL. */
  constructor(settings: ExtenderSettings, { clock, env }: ConnectionOptions) {
    const { timeoutMs, tls, urlPrefix } = settings;
    const url = new URL(urlPrefix.replace(/\/+$/, ''));
    const headers = basicAuthorization(url);
    url.username = '';
    url.password = '';
    this.url = url.href.replace(/\/+$/, '');
    this.#timeoutMs = timeoutMs;
    this.#clock = clock;
    const proxy = proxyFromEnvironment(url, env);
    this.#transport = new HttpTransport({
      server: this.url,
      clock,
      headers,
      // The timeout below covers the whole exchange.
      timeoutMs: 0,
      compression: false,
      insecureSkipVerify: skipsVerification(settings),
      ...(url.protocol === 'https:' ? { tls: tlsOf(settings, clock) } : {}),
      ...(tls?.serverName === undefined ? {} : { serverName: tls.serverName }),
      ...(proxy === undefined ? {} : { proxy }),
    });
  }

  /** Sends a request and returns the answer. Rejects with an Error unless it is JSON with status 200 in time. */
  async post(verb: string, question: object, stop: AbortSignal): Promise<unknown> {
    const body = Buffer.from(JSON.stringify(question));
    const timeout = new AbortController();
    const timer = this.#clock.setTimer(() => timeout.abort(), this.#timeoutMs);
    try {
      const response = await this.#transport.request({
        method: 'POST',
        path: `/${verb.replace(/^\/+/, '')}`,
        headers: { 'content-type': 'application/json', accept: 'application/json' },
        body,
        signal: AbortSignal.any([stop, timeout.signal]),
      });
      if (response.status !== 200) {
        // Drop the connection, since the rest of the answer is not needed.
        timeout.abort();
        throw new Error(`failed ${verb} with extender at URL ${this.url}/${verb}, code ${response.status}`);
      }
      return parseJson(await readAll(response.body, Math.max(minAnswerBytes, 2 * body.length)));
    } catch (error) {
      if (timeout.signal.aborted && error instanceof TransportError) {
        throw new Error(`no answer from ${this.url}/${verb} within ${this.#timeoutMs} ms`, { cause: error });
      }
      throw error;
    } finally {
      timer.cancel();
    }
  }

  close(): Promise<void> {
    return this.#transport.close();
  }
}

/** HTTPS without a certificate authority is not verified, as in release 1.24. */
export function skipsVerification({ enableHttps, tls }: ExtenderSettings): boolean {
  return tls?.insecure === true || (enableHttps && tls?.caData === undefined && tls?.caFile === undefined);
}

/** The TLS files and data of the settings. `current` rejects if a file cannot be read. */
export function tlsOf({ tls }: ExtenderSettings, clock: Clock): TlsSource {
  const file = (data: string | undefined, path: string | undefined) => (data === undefined ? path : undefined);
  return new FileTls({
    inline: { ca: tls?.caData, cert: tls?.certData, key: tls?.keyData },
    files: {
      ca: file(tls?.caData, tls?.caFile),
      cert: file(tls?.certData, tls?.certFile),
      key: file(tls?.keyData, tls?.keyFile),
    },
    clock,
  });
}

function basicAuthorization({ password, username }: URL): Readonly<Record<string, string>> {
  if (username === '' && password === '') return {};
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` };
}
