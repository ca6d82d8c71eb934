/** Clients that watch for ever: they come back where they were, to whichever server there is. */
import { type ClientHttp2Session, connect } from 'node:http2';
import { Agent, request } from 'node:https';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Selection, told } from '#test/integration/apiserver/watch-history/changes.js';

interface Line {
  readonly version: string;
  /** Undefined for a bookmark. */
  readonly text: string | undefined;
}

/** Two hundred watchers are sent the same bytes: the same line is parsed once, if it comes again soon. */
export class Lines {
  readonly #known = new Map<string, Line>();

  read(line: string): Line {
    const known = this.#known.get(line);
    if (known !== undefined) return known;
    const read = parseLine(line);
    if (this.#known.size >= 1000) this.#known.clear();
    this.#known.set(line, read);
    return read;
  }
}

function parseLine(line: string): Line {
  const { type, object } = JSON.parse(line);
  // No version to go on from; told in the differences at the end.
  if (type === 'ERROR') return { version: '', text: `ERROR ${object.message}` };
  const { namespace, name, resourceVersion: version } = object.metadata;
  return { version, text: type === 'BOOKMARK' ? undefined : told(type, namespace, name, version, object.data?.n) };
}

/** Opens a watch on a server's port; resolves when its headers are there. */
export interface Transport {
  open(port: number, path: string): Promise<Readable>;
  close(): void;
}

/** A connection for each watch. */
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
    // Told by its streams.
    session.on('error', () => undefined);
    this.#sessions.set(port, session);
    return session;
  }
}

export interface WatcherOptions {
  readonly selection: Selection;
  readonly transport: Transport;
  readonly lines: Lines;
  /** Where it begins. */
  readonly version: string;
  /** The server to go to next. */
  readonly port: () => number;
}

export class Watcher {
  readonly selection: Selection;
  /** Every event of all its connections. */
  readonly told: string[] = [];
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
        // The server is going or not there yet.
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
    if (text !== undefined) this.told.push(text);
  }
}
