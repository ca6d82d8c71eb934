/** Watches as streams of a few HTTP/2 connections of our own client, whose cost is small compared with the server's. */
import { once } from 'node:events';
import { connect } from 'node:tls';
import { deferred } from '#apimachinery/async/deferred.js';
import { Http2Session } from '#http/http2/client-session.js';
import { resetCode } from '#http/http2/frames.js';
import { encodeHeaders } from '#http/http2/hpack.js';
import { Arrivals } from '#test/bench/access/arrivals.js';
import type { RunningServer } from '#test/bench/access/servers.js';

const host = '127.0.0.1';
const nothing = Buffer.alloc(0);

/** Several connections with equally many watches. */
export class MultiplexedWatches {
  readonly #server: RunningServer;
  readonly #sessions: Http2Session[] = [];
  /** Lines of each watch, in order of opening. */
  readonly counts: number[] = [];
  readonly arrivals = new Arrivals();

  constructor(server: RunningServer) {
    this.#server = server;
  }

  /** Events of all watches together. Throws if a watch has ended. */
  get events(): number {
    return this.arrivals.events;
  }

  /** Opens a connection with a watch for each path. */
  async open(paths: readonly string[]): Promise<void> {
    const { port, headers } = this.#server.http2.options;
    const socket = connect({ host, port, ALPNProtocols: ['h2'], rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    const ready = deferred<void>();
    const session = new Http2Session({
      socket,
      streamWindowBytes: 2 ** 20,
      sessionWindowBytes: 2 ** 24,
      handler: { ready: ready.resolve, draining() {}, closed: (cause) => this.#break(cause) },
    });
    this.#sessions.push(session);
    await ready.promise;
    await Promise.all(paths.map((path) => this.#watch(session, path, headers)));
  }

  close(): void {
    this.arrivals.break(new Error('closed'));
    for (const session of this.#sessions) session.destroy(undefined);
  }

  #watch(session: Http2Session, path: string, headers: Readonly<Record<string, string>>): Promise<void> {
    const head = encodeHeaders([
      [':method', 'GET'],
      [':scheme', 'https'],
      [':path', path],
      [':authority', host],
      ...Object.entries(headers),
    ]);
    const number = this.counts.push(0) - 1;
    return new Promise((resolve, reject) => {
      const stream = session.open(head, nothing, true, {
        headers: (fields) => {
          if (fields[0]?.[1] === '200') return resolve();
          stream.reset(resetCode.CANCEL);
          reject(new Error(`watch: ${fields[0]?.[1]}`));
        },
        data: (chunk) => {
          this.counts[number] = (this.counts[number] ?? 0) + this.arrivals.add(chunk);
          stream.took(chunk.length);
        },
        ended: () => this.#break(new Error('a watch has ended')),
      });
    });
  }

  #break(cause: Error | undefined): void {
    this.arrivals.break(cause ?? new Error('a connection has ended'));
  }
}
