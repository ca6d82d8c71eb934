/** Many watches of one server, and how many events have come through all of them. */
import { Connections } from '#test/bench/access/connections.js';
import type { RunningServer } from '#test/bench/access/servers.js';

const lineFeed = 10;

export interface WatchersOptions {
  readonly server: RunningServer;
  readonly path: string;
  readonly count: number;
  /** Each over an HTTP/2 connection of its own instead of HTTP/1.1. */
  readonly http2?: boolean;
}

export class Watchers {
  #events = 0;
  #waiting: { readonly events: number; readonly done: () => void } | undefined;
  readonly #closers: (() => void)[] = [];
  #broken: Error | undefined;

  static async open({ server, path, count, http2 = false }: WatchersOptions): Promise<Watchers> {
    const watchers = new Watchers();
    for (let from = 0; from < count; from += 20) {
      const some = Array.from({ length: Math.min(20, count - from) }, () => watchers.#add(server, path, http2));
      await Promise.all(some);
    }
    return watchers;
  }

  /** Events of all watches together. */
  get events(): number {
    return this.#events;
  }

  /** Resolves when that many have come since the beginning. */
  async reached(events: number): Promise<void> {
    if (this.#broken !== undefined) throw this.#broken;
    if (this.#events < events) {
      await new Promise<void>((resolve) => {
        this.#waiting = { events, done: resolve };
      });
    }
    if (this.#broken !== undefined) throw this.#broken;
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
    stream.on('data', (part: Buffer) => {
      for (let at = part.indexOf(lineFeed); at >= 0; at = part.indexOf(lineFeed, at + 1)) this.#events++;
      this.#look();
    });
    stream.on('error', (error: Error) => {
      if (!closed) this.#break(error);
    });
    stream.on('end', () => {
      if (!closed) this.#break(new Error('the watch has ended'));
    });
  }

  #break(error: Error): void {
    this.#broken = error;
    this.#look();
  }

  #look(): void {
    const waiting = this.#waiting;
    if (waiting === undefined || (this.#events < waiting.events && this.#broken === undefined)) return;
    this.#waiting = undefined;
    waiting.done();
  }
}
