/** A client of one server: keep-alive HTTP/1.1 connections, or streams of one HTTP/2 connection. */
import { type ClientHttp2Session, connect, constants } from 'node:http2';
import { Agent, request as httpsRequest } from 'node:https';
import type { Readable } from 'node:stream';

export interface ConnectionsOptions {
  readonly port: number;
  /** Headers of each request. */
  readonly headers: Readonly<Record<string, string>>;
  readonly http2: boolean;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

export interface RequestOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer | string;
  /** Keeps only the body's length. */
  readonly discard?: boolean;
  /** Uses a connection of its own, closed after the response (HTTP/1.1). */
  readonly ownConnection?: boolean;
}

interface Opened {
  readonly status: number;
  readonly headers: Answer['headers'];
  readonly stream: Readable;
  destroy(): void;
}

const host = '127.0.0.1';

export class Connections {
  readonly options: ConnectionsOptions;
  readonly #agent = new Agent({ keepAlive: true, rejectUnauthorized: false });
  #session: ClientHttp2Session | undefined;

  constructor(options: ConnectionsOptions) {
    this.options = options;
  }

  /** The complete response; throws for connection errors, not for statuses. */
  async request(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    const { status, headers, stream } = await this.open(method, path, options);
    const parts: Buffer[] = [];
    const body = await new Promise<Buffer>((resolve, reject) => {
      stream.on('data', (part: Buffer) => {
        if (options.discard !== true) parts.push(part);
      });
      stream.on('error', reject);
      stream.on('aborted', () => reject(new Error('response broke off')));
      stream.on('end', () => resolve(Buffer.concat(parts)));
    });
    return { status, headers, body };
  }

  /** The head of the response; the caller reads the body. */
  open(method: string, path: string, options: RequestOptions = {}): Promise<Opened> {
    const headers: Record<string, string> = { ...this.options.headers, ...options.headers };
    if (options.body !== undefined) headers['content-length'] = String(Buffer.byteLength(options.body));
    return this.options.http2
      ? this.#stream(method, path, headers, options)
      : this.#exchange(method, path, headers, options);
  }

  close(): Promise<void> {
    this.#agent.destroy();
    const session = this.#session;
    return new Promise((resolve) => {
      if (session === undefined || session.closed) resolve();
      else session.close(() => resolve());
    });
  }

  #exchange(method: string, path: string, headers: Record<string, string>, options: RequestOptions): Promise<Opened> {
    return new Promise((resolve, reject) => {
      const agent = options.ownConnection === true ? false : this.#agent;
      const { port } = this.options;
      const outgoing = httpsRequest({ host, port, method, path, headers, agent, rejectUnauthorized: false });
      outgoing.on('error', reject);
      outgoing.on('response', (incoming) => {
        const { statusCode: status = 0, headers: received } = incoming;
        resolve({ status, headers: received, stream: incoming, destroy: () => outgoing.destroy() });
      });
      outgoing.end(options.body);
    });
  }

  #stream(method: string, path: string, headers: Record<string, string>, options: RequestOptions): Promise<Opened> {
    return new Promise((resolve, reject) => {
      const session = this.#connected();
      const stream = session.request({ ':method': method, ':path': path, ...headers });
      stream.on('error', reject);
      stream.on('response', (received) => {
        const status = Number(received[constants.HTTP2_HEADER_STATUS] ?? 0);
        resolve({ status, headers: received, stream, destroy: () => stream.close(constants.NGHTTP2_CANCEL) });
      });
      stream.end(options.body);
    });
  }

  #connected(): ClientHttp2Session {
    if (this.#session === undefined || this.#session.closed || this.#session.destroyed) {
      this.#session = connect(`https://${host}:${this.options.port}`, {
        rejectUnauthorized: false,
        settings: { initialWindowSize: 4 * 2 ** 20 },
      });
      const session = this.#session;
      session.once('connect', () => session.setLocalWindowSize(16 * 2 ** 20));
      // Each request gets its own error.
      this.#session.on('error', () => undefined);
    }
    return this.#session;
  }
}
