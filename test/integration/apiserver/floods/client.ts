/** Connections and streams of a flood: each is opened again at its end, and the answers are counted. */
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import type { Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';

export interface Target {
  readonly port: number;
  /** Absent: an anonymous client. */
  readonly token?: string | undefined;
  /** Of the client: the flood comes from another host than its victims. */
  readonly address: string;
}

export interface Attack {
  /** Answers by status, and ends of connections without one as `closed`. */
  readonly outcomes: Map<string, number>;
  /** Requests or connections begun. */
  begun(): number;
  stop(): void;
}

export type Flood = (target: Target, size: number) => Attack;

export const host = '127.0.0.1';
/** An end that comes sooner is followed by a pause. */
export const pauseMs = 20;

/** Keeps `size` things open: each is opened again when it ends. */
export class Keeper implements Attack {
  readonly outcomes = new Map<string, number>();
  #begun = 0;
  #stopped = false;
  readonly #open = new Set<{ destroy(): unknown }>();

  get stopped(): boolean {
    return this.#stopped;
  }

  begun(): number {
    return this.#begun;
  }

  count(outcome: string): void {
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
  }

  /** `open` calls back once, at the end. */
  keep(size: number, open: (end: (outcome: string) => void) => { destroy(): unknown }): void {
    const again = () => {
      if (this.#stopped) return;
      this.#begun++;
      let over = false;
      const thing = open((outcome) => {
        if (over) return;
        over = true;
        this.count(outcome);
        if (thing !== undefined) this.#open.delete(thing);
        setTimeout(again, pauseMs).unref();
      });
      this.#open.add(thing);
    };
    for (let i = 0; i < size; i++) again();
  }

  stop(): void {
    this.#stopped = true;
    for (const each of this.#open) each.destroy();
  }
}

export const tls = { host, rejectUnauthorized: false } as const;

export const from = ({ port, address }: Target) => ({ port, localAddress: address });

export function authorization({ token }: Target): Record<string, string> {
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}

export function headOf(
  target: Target,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
): string {
  const lines = Object.entries({ host: 'a', ...authorization(target), ...headers });
  return `${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
}

/** Reports the status of the first answer, or the close without one. */
export function outcomeOf(socket: Socket | TLSSocket, end: (outcome: string) => void): void {
  let status = 'closed';
  socket.setEncoding('latin1');
  socket.on('data', (text: string) => {
    if (status === 'closed') status = /^HTTP\/1\.1 ([0-9]+)/.exec(text)?.[1] ?? 'other';
  });
  socket.on('error', () => undefined);
  socket.on('close', () => end(status));
}

type Begin = (session: ClientHttp2Session, end: (outcome: string) => void) => void;

/** Streams on as few connections as possible, each begun again at its end. */
export function streams(target: Target, size: number, begin: Begin, perConnection = 125): Keeper {
  const keeper = new Keeper();
  const connections = Math.ceil(size / perConnection);
  keeper.keep(connections, (end) => {
    const socket = connectTls({ ...tls, ...from(target), ALPNProtocols: ['h2'] });
    const session = connectHttp2(`https://${host}`, { createConnection: () => socket });
    session.on('error', () => undefined);
    session.on('close', () => end('closed'));
    const again = () => {
      if (session.destroyed || session.closed || keeper.stopped) return;
      begin(session, (outcome) => {
        keeper.count(outcome);
        setTimeout(again, pauseMs).unref();
      });
    };
    session.once('connect', () => {
      for (let i = 0; i < Math.ceil(size / connections); i++) again();
    });
    return session;
  });
  return keeper;
}

export function request(
  session: ClientHttp2Session,
  headers: Readonly<Record<string, string>>,
  { ends, pauses = false }: { readonly ends: boolean; readonly pauses?: boolean },
  end: (outcome: string) => void,
) {
  const stream = session.request(headers, { endStream: ends });
  let status = 'closed';
  stream.on('response', (head) => {
    status = String(head[':status']);
  });
  stream.on('error', () => undefined);
  stream.on('close', () => end(status));
  if (!pauses) stream.resume();
  return stream;
}
