/** Clients that vanish: raw connections to an API server that begin a request, read a little, and disconnect. */

import { once } from 'node:events';
import { connect, type TLSSocket } from 'node:tls';
import { deferred } from '#apimachinery/async/deferred.js';
import { realClock } from '#apimachinery/clock.js';
import { loadKubeconfig } from '#client/kubeconfig/load.js';
import { SpdySession } from '#daemon/streaming/spdy/session.js';

/** Where the server is, and the administrator's certificate. */
export interface Server {
  readonly host: string;
  readonly port: number;
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
}

export async function serverOf(kubeconfig: string): Promise<Server> {
  const config = await loadKubeconfig(kubeconfig, { clock: realClock });
  const { hostname: host, port } = new URL(config.server);
  const { cert = '', key = '' } = (await config.tls?.current()) ?? {};
  return { host, port: Number(port), cert, key };
}

export interface Leaving {
  readonly random: () => number;
  /** Longest stay of one client; ms. */
  readonly stayMs: number;
  /** Whether the client always stays until the server begins to answer. */
  readonly untilAnswered: boolean;
}

/** How long a client waits for an answer that may never come. */
const patienceMs = 300;
/** Timeout of a client that stays until the answer. */
const longPatienceMs = 20_000;

/** The work of a client on its connection. May throw, since the connection is cut at any point. */
export type Visit = (socket: TLSSocket, leaving: Leaving) => Promise<void>;

/**
 * One visit, cut at a random moment in a random way. Resolves when the client's side is closed, with the status of the
 * response, if any; never rejects.
 */
export async function visitAndLeave(server: Server, visit: Visit, leaving: Leaving): Promise<string | undefined> {
  const { random, stayMs, untilAnswered } = leaving;
  const { host, port, cert, key } = server;
  const socket = connect({ host, port, cert, key, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
  socket.on('error', () => undefined);
  const gone = once(socket, 'close').catch(() => undefined);
  let status: string | undefined;
  const begun = deferred();
  const answered = deferred();
  // The visit ends with its connection, since its answer may never come.
  socket.once('secureConnect', () => {
    begun.resolve();
    socket.once('data', (part: Buffer) => {
      answered.resolve();
      status = /^HTTP\/1\.1 (\d{3}) /.exec(part.toString('latin1', 0, 20))?.[1];
    });
    visit(socket, leaving).catch(() => undefined);
  });
  const moment = random();
  if (untilAnswered) await Promise.race([answered.promise, gone, realClock.sleep(longPatienceMs)]);
  // Some clients leave before the connection, some before the answer, most stay a while.
  if (moment < 0.1) await realClock.sleep(random() * 20);
  else {
    await Promise.race([begun.promise, gone]);
    if (moment > 0.3) await Promise.race([answered.promise, gone, realClock.sleep(patienceMs)]);
    await realClock.sleep(moment < 0.5 ? random() * 20 : random() * stayMs);
  }
  await leave(socket, random);
  await gone;
  return status;
}

async function leave(socket: TLSSocket, random: () => number): Promise<void> {
  const way = Math.floor(random() * 3);
  // Half-closes the connection or stops reading, and closes it a little later; unread bytes then reset the connection.
  if (way === 1) socket.end();
  else if (way === 2) socket.pause();
  if (way > 0) await realClock.sleep(random() * 30);
  socket.destroy();
}

/** A complete request whose response is read. */
export function asks(head: string): Visit {
  return async (socket) => {
    socket.resume();
    socket.write(head);
  };
}

/** A request with an incomplete body. */
export function uploads(path: string, chunked: boolean): Visit {
  return async (socket, { random }) => {
    socket.resume();
    const length = 2_000_000;
    const framing = chunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`;
    socket.write(`POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n${framing}\r\n\r\n`);
    for (let sent = 0; sent < length && random() < 0.95; sent += 16_384) {
      const part = 'x'.repeat(16_384);
      socket.write(chunked ? `4000\r\n${part}\r\n` : part);
      await realClock.sleep(1);
    }
  };
}

/** An upgrade; resolves with the bytes behind the response head. Rejects when the connection ends before. */
async function upgraded(socket: TLSSocket, path: string, headers: readonly string[]): Promise<Buffer> {
  const lines = ['Host: a', 'Connection: Upgrade', ...headers].join('\r\n');
  socket.write(`GET ${path} HTTP/1.1\r\n${lines}\r\n\r\n`);
  let got: Buffer = Buffer.alloc(0);
  for (;;) {
    const [part] = (await Promise.race([once(socket, 'data'), once(socket, 'close')])) as [Buffer?];
    if (!Buffer.isBuffer(part)) throw new Error('closed');
    got = Buffer.concat([got, part]);
    const end = got.indexOf('\r\n\r\n');
    if (end >= 0) return got.subarray(end + 4);
  }
}

/** Over WebSocket, with messages of `say` until the client is cut. */
export function webSocket(path: string, protocol: string, say?: Buffer): Visit {
  return async (socket, { random }) => {
    await upgraded(socket, path, [
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: MTIzNDU2Nzg5MDEyMzQ1Ng==',
      ...(protocol === '' ? [] : [`Sec-WebSocket-Protocol: ${protocol}`]),
    ]);
    socket.resume();
    if (say === undefined) return;
    // A binary message, masked with zeros.
    const message = Buffer.concat([Buffer.from([0x82, 0x80 | say.length, 0, 0, 0, 0]), say]);
    while (!socket.destroyed && random() < 0.98) {
      // Some are cut in the middle.
      socket.write(random() < 0.02 ? message.subarray(0, 3) : message);
      await realClock.sleep(2);
    }
  };
}

/** Over SPDY, with these streams; what is written to those named `stdin` or `data` goes on until the client is cut. */
export function spdy(path: string, protocol: string, streams: readonly Readonly<Record<string, string>>[]): Visit {
  return async (socket, { random }) => {
    const rest = await upgraded(socket, path, ['Upgrade: SPDY/3.1', `X-Stream-Protocol-Version: ${protocol}`]);
    if (rest.length > 0) socket.unshift(rest);
    const session = new SpdySession(socket, 'client');
    const open = streams.map((headers) => {
      const stream = session.open({ ...headers });
      stream.on('error', () => undefined);
      stream.resume();
      return { stream, writes: ['stdin', 'data'].includes(headers['streamtype'] ?? '') };
    });
    const input = open.find(({ writes }) => writes)?.stream;
    while (input?.writable && !socket.destroyed && random() < 0.98) {
      input.write('hello\n');
      await realClock.sleep(2);
    }
    if (random() < 0.2) input?.destroy();
    if (random() < 0.1) session.close();
  };
}
