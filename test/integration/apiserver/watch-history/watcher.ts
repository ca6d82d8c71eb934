/** Clients that watch continuously and resume at any available server. */
import { type ClientHttp2Session, connect } from 'node:http2';
import { Agent, request } from 'node:https';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, type Selection } from '#test/integration/apiserver/watch-history/changes.js';

interface Line {
  readonly version: string;
  /** Undefined for a bookmark. */
  readonly text: string | undefined;
}

/** Two hundred watchers receive the same bytes, so recent lines are parsed once. */
export class Lines {
  readonly #parsed = new Map<string, Line>();

  read(line: string): Line {
    const cached = this.#parsed.get(line);
    if (cached !== undefined) return cached;
    const read = parseLine(line);
    if (this.#parsed.size >= 1000) this.#parsed.clear();
    this.#parsed.set(line, read);
    return read;
  }
}

function parseLine(line: string): Line {
  const { type, object } = JSON.parse(line);
  // It has no version to resume from; reported as a difference.
  if (type === 'ERROR') return { version: '', text: `ERROR ${object.message}` };
  const { namespace, name, resourceVersion: version } = object.metadata;
  return { version, text: type === 'BOOKMARK' ? undefined : describe(type, namespace, name, version, object.data?.n) };
}

/** Opens a watch on a server's port; resolves with its headers. */
export interface Transport {
  open(port: number, path: string): Promise<Readable>;
  close(): void;
}

/** A connection per watch. */
export class Http1Transport implements Transport {
  readonly #agent = new Agent({ rejectUnauthorized: false });

  open(port: number, path: string): Promise<Readable> {
    return new Promise((resolve, reject) => {
      request({ host: '127.0.0.1', port, path, agent: this.#agent }, resolve).on('error', reject).end();
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** All watches of a server over one connection. */
export class Http2Transport implements Transport {
  readonly #sessions = new Map<number, ClientHttp2Session>();

  open(port: number, path: string): Promise<Readable> {
    return new Promise((resolve, reject) => {
      const stream = this.#session(port).request({ ':path': path });
      stream.on('error', reject).once('response', () => resolve(stream));
      stream.once('close', () => reject(new Error('closed before its headers')));
    });
  }

  close(): void {
    for (const session of this.#sessions.values()) session.destroy();
  }

  #session(port: number): ClientHttp2Session {
    const open = this.#sessions.get(port);
    if (open !== undefined && !open.destroyed && !open.closed) return open;
    const session = connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
    // Its streams report the error.
    session.on('error', () => undefined);
    this.#sessions.set(port, session);
    return session;
  }
}

export interface WatcherOptions {
  readonly selection: Selection;
  readonly transport: Transport;
  readonly lines: Lines;
  /** The initial version. */
  readonly version: string;
  /** The server to use next. */
  readonly port: () => number;
}

export class Watcher {
  readonly selection: Selection;
  /** All events of all connections. */
  readonly received: string[] = [];
  connections = 0;
  readonly #options: WatcherOptions;
  #version: string;
  #current: Readable | undefined;
  #done = false;

  constructor(options: WatcherOptions) {
    this.#options = options;
    this.selection = options.selection;
    this.#version = options.version;
  }

  /** Resolves after `stop`. */
  async run(): Promise<void> {
    const { transport, port, selection } = this.#options;
    while (!this.#done) {
      try {
        const path = `${selection.url}watch=1&allowWatchBookmarks=true&resourceVersion=${this.#version}`;
        this.#current = await transport.open(port(), path);
        this.connections += 1;
        await this.#read(this.#current);
      } catch {
        // The server is stopping or not started yet.
        await sleep(20);
      }
    }
  }

  stop(): void {
    this.#done = true;
    this.#current?.destroy();
  }

  #read(stream: Readable): Promise<void> {
    let rest = '';
    return new Promise((resolve, reject) => {
      stream.setEncoding('utf8').on('data', (text: string) => {
        const lines = (rest + text).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) this.#take(this.#options.lines.read(line));
      });
      stream.on('error', reject).on('close', resolve);
    });
  }

  #take({ version, text }: Line): void {
    if (version !== '') this.#version = version;
    if (text !== undefined) this.received.push(text);
  }
}
