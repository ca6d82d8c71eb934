/** Many watches of one server, with a count of their events. */
import { Arrivals } from '#test/bench/access/arrivals.js';
import { Connections } from '#test/bench/access/connections.js';
import type { RunningServer } from '#test/bench/access/servers.js';

export interface WatchersOptions {
  readonly server: RunningServer;
  readonly path: string;
  readonly count: number;
  /** Uses an HTTP/2 connection each, instead of HTTP/1.1. */
  readonly http2?: boolean;
}

export class Watchers {
  readonly arrivals = new Arrivals();
  readonly #closers: (() => void)[] = [];

  static async open({ server, path, count, http2 = false }: WatchersOptions): Promise<Watchers> {
    const watchers = new Watchers();
    for (let from = 0; from < count; from += 20) {
      const some = Array.from({ length: Math.min(20, count - from) }, () => watchers.#add(server, path, http2));
      await Promise.all(some);
    }
    return watchers;
  }

  close(): void {
    for (const close of this.#closers) close();
  }

  async #add(server: RunningServer, path: string, http2: boolean): Promise<void> {
    const connections = http2 ? new Connections({ ...server.http2.options, http2 }) : server.http1;
    const { status, stream, destroy } = await connections.open('GET', path, { ownConnection: true });
    if (status !== 200) throw new Error(`watch: ${status}`);
    let closed = false;
    this.#closers.push(() => {
      closed = true;
      destroy();
      if (http2) void connections.close();
    });
    stream.on('data', (part: Buffer) => this.arrivals.add(part));
    stream.on('error', (error: Error) => {
      if (!closed) this.arrivals.break(error);
    });
    stream.on('end', () => {
      if (!closed) this.arrivals.break(new Error('the watch has ended'));
    });
  }
}
