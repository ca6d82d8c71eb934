/**
 * Runs API servers in the process of `etcd`, on its store: one process in place of two starts faster, and holds one copy of the
 * programs and of each object. A `kube-apiserver` attaches by a connection to etcd's port, which lasts as long as it does:
 *
 *     POST /orch/kube-apiserver, Upgrade: orch-apiserver      → 101
 *     N, then N texts, each ended by a NUL: folder, ORCH_TEST_* variables as NAME=VALUE up to an empty text, arguments
 *     later: `stop` and a line end for each signal            ← lines: `o…` and `e…` of its output, `xN` its exit code
 *
 * Only processes of the same user may attach: an API server reads and writes the files that its options name.
 */
import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { ProgramProcess } from '#daemon/run.js';
import { portOwner } from '#testcluster/envtest/port-owner.js';

export interface ApiServerHostOptions {
  /** Runs a program to its end; resolves with its exit code. Loaded when first needed. */
  readonly load: () => Promise<RunApiServer>;
  readonly pid: number;
  /** The user of this process. */
  readonly uid: number;
  /** Folder of this process: relative paths of others mean other files. */
  readonly folder: string;
}

export type RunApiServer = (process: ProgramProcess) => Promise<number>;

/** Path of the request that attaches. */
const attachPath = '/orch/kube-apiserver';
/** Limit of the command line. */
const maxBytes = 1 << 20;

export class ApiServerHost {
  readonly #options: ApiServerHostOptions;
  readonly #guests = new Set<Guest>();
  #loaded: Promise<RunApiServer> | undefined;

  constructor(options: ApiServerHostOptions) {
    this.#options = options;
  }

  /** Loads the API server before the first one attaches. Idempotent. */
  prepare(): void {
    // The first one that attaches gets the failure.
    this.#load().catch(() => undefined);
  }

  /** Takes a request that leaves HTTP, and its connection. */
  readonly attach = (request: IncomingMessage, socket: Socket): void => {
    this.#attach(request, socket).catch((error: unknown) => socket.destroy(error instanceof Error ? error : undefined));
  };

  /** Stops all API servers. */
  async close(): Promise<void> {
    await Promise.all([...this.#guests].map((guest) => guest.stop()));
  }

  #load(): Promise<RunApiServer> {
    this.#loaded ??= this.#options.load();
    return this.#loaded;
  }

  async #attach(request: IncomingMessage, socket: Socket): Promise<void> {
    const { uid } = this.#options;
    socket.on('error', () => undefined);
    if (request.url !== attachPath) return refuse(socket, '404 Not Found');
    const owner = portOwner(
      await readFile('/proc/net/tcp', 'latin1'),
      { address: socket.remoteAddress ?? '', port: socket.remotePort ?? 0 },
      { address: socket.localAddress ?? '', port: socket.localPort ?? 0 },
    );
    if (owner === undefined || (owner !== uid && owner !== 0)) return refuse(socket, '403 Forbidden');
    socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: orch-apiserver\r\nconnection: upgrade\r\n\r\n');
    const [folder = '', ...words] = await readTexts(socket);
    if (folder !== this.#options.folder) {
      socket.end('r\n');
      return;
    }
    socket.write('a\n');
    const end = words.indexOf('');
    const variables = words
      .slice(0, end)
      .map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]);
    const guest = new Guest(socket, {
      ...{ pid: this.#options.pid, argv: ['', '', ...words.slice(end + 1)] },
      env: Object.fromEntries(variables) as Record<string, string>,
    });
    this.#guests.add(guest);
    try {
      await guest.run(await this.#load());
    } finally {
      this.#guests.delete(guest);
    }
  }
}

/** An API server, seen from its process. */
class Guest {
  readonly #socket: Socket;
  readonly #process: ProgramProcess;
  readonly #listeners = new Set<() => void>();
  #work: Promise<number> | undefined;
  #stopped = false;

  constructor(socket: Socket, { pid, argv, env }: Pick<ProgramProcess, 'pid' | 'argv' | 'env'>) {
    this.#socket = socket;
    const output = (mark: string) => ({ write: (text: string) => this.#write(mark, text) });
    this.#process = {
      ...{ pid, argv, env, stdout: output('o'), stderr: output('e') },
      on: (event, listener) => {
        if (event === 'SIGTERM') this.#listeners.add(listener);
      },
      off: (_event, listener) => this.#listeners.delete(listener),
      exit: (code) => this.#exit(code),
    };
  }

  async run(run: RunApiServer): Promise<void> {
    this.#socket.on('data', (chunk: Buffer) => {
      for (const line of chunk.toString('latin1').split('\n')) if (line === 'stop') this.#signal();
    });
    // The process has ended, or was killed.
    this.#socket.once('close', () => void this.stop());
    this.#socket.resume();
    this.#work = run(this.#process);
    if (this.#stopped) this.#signal();
    this.#exit(await this.#work);
  }

  /** Like a signal, once. Resolves when it has ended. Never rejects. */
  async stop(): Promise<void> {
    if (!this.#stopped) this.#signal();
    await this.#work?.catch(() => undefined);
  }

  #signal(): void {
    this.#stopped = true;
    for (const listener of this.#listeners) listener();
  }

  #exit(code: number): void {
    if (!this.#socket.destroyed && !this.#socket.writableEnded) this.#socket.end(`x${code}\n`);
  }

  #write(mark: string, text: string): void {
    if (this.#socket.destroyed || this.#socket.writableEnded) return;
    // A line of its own for each line; the last one may have no end.
    const lines = text.endsWith('\n') ? text.slice(0, -1) : text;
    this.#socket.write(`${lines.replace(/^/gm, mark)}\n`);
  }
}

function refuse(socket: Socket, status: string): void {
  socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\n\r\n`);
}

/** Reads a number and so many texts. Rejects when the connection ends before. */
async function readTexts(socket: Socket): Promise<string[]> {
  let held: Buffer = Buffer.alloc(0);
  for (;;) {
    const chunk = socket.read() as Buffer | null;
    if (chunk === null) {
      await new Promise<void>((resolve, reject) => {
        socket.once('readable', resolve);
        socket.once('close', () => reject(new Error('the connection has ended')));
        socket.once('end', () => reject(new Error('the connection has ended')));
      });
      continue;
    }
    held = Buffer.concat([held, chunk]);
    if (held.length > maxBytes) throw new Error('the command line is too long');
    const [count = '', ...texts] = held.toString('utf8').split('\0');
    // After the last NUL comes an empty rest.
    if (texts.length > Number(count)) return texts.slice(0, Number(count));
  }
}
