/** Listeners for DNS over UDP and TCP. */

import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { createServer, type Server, type Socket as TcpSocket } from 'node:net';
import type { Clock, Timer } from '#apimachinery/clock.js';
import { FairShare } from '#apimachinery/collections/fair-share.js';

/** Calls `respond` at most once, immediately or later. */
export type Responder = (message: Buffer, source: string, respond: (answer: Buffer) => void) => void;

export interface ListenerOptions {
  readonly address: string;
  /** 0: any free port. */
  readonly port: number;
  readonly responder: Responder;
  /** The listener failed. */
  readonly onError: (error: Error) => void;
}

/** Buffer for queries that arrive while the process is busy. */
const receiveBytes = 1024 * 1024;

export interface Listener {
  readonly port: number;
  close(): Promise<void>;
}

/** Rejects if the address is not available. */
export async function listenUdp({ address, port, responder, onError }: ListenerOptions): Promise<Listener> {
  const isIPv6 = address.includes(':');
  const socket = createSocket({
    type: isIPv6 ? 'udp6' : 'udp4',
    ipv6Only: isIPv6,
    // Destinations are addresses; skipping the resolver saves a third of a response's time.
    lookup: (host, _options, callback) => callback(null, host, isIPv6 ? 6 : 4),
  });
  await bound(socket, address, port);
  socket.on('error', onError);
  socket.on('message', (message, from) => {
    responder(message, from.address, (answer) => {
      // The client is gone or a buffer is full; clients retry.
      socket.send(answer, from.port, from.address, ignore);
    });
  });
  let isClosed = false;
  return {
    port: socket.address().port,
    close: () =>
      new Promise((resolve) => {
        if (isClosed) return resolve();
        isClosed = true;
        socket.close(() => resolve());
      }),
  };
}

function ignore(): void {}

function bound(socket: UdpSocket, address: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => {
      socket.close();
      reject(error);
    };
    socket.once('error', fail);
    socket.bind({ address, port, exclusive: true }, () => {
      socket.removeListener('error', fail);
      try {
        socket.setRecvBufferSize(receiveBytes);
      } catch {
        // The system's default is sufficient.
      }
      resolve();
    });
  });
}

/** Limit of connections, of which one client may have a third. */
const maxConnections = 500;
const clientFactor = 0.5;
/** Limit of pending queries per connection; further ones are not read. */
const maxWaiting = 64;
const idleMs = 10_000;
/** Limit of a query, which is a name and a few options. */
const maxQueryBytes = 4096;

/**
 * TCP messages have a length prefix; a connection may carry several, answered in any order. Rejects if the address is
 * not available.
 */
export async function listenTcp(options: ListenerOptions & { readonly clock: Clock }): Promise<Listener> {
  const { address, port, onError } = options;
  const sockets = new Set<TcpSocket>();
  const places = new FairShare<string>({ limit: maxConnections, factor: clientFactor });
  const server = createServer((socket) => {
    const release = places.take(socket.remoteAddress ?? '');
    if (release === undefined) {
      socket.destroy();
      return;
    }
    sockets.add(socket);
    socket.once('close', () => {
      sockets.delete(socket);
      release();
    });
    serve(socket, options);
  });
  await listening(server, address, port);
  server.on('error', onError);
  const bound = server.address();
  return {
    port: typeof bound === 'object' && bound !== null ? bound.port : port,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function listening(server: Server, address: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: address, port, ipv6Only: address.includes(':'), exclusive: true }, () => {
      server.removeListener('error', reject);
      resolve();
    });
  });
}

function serve(socket: TcpSocket, { clock, responder }: ListenerOptions & { readonly clock: Clock }): void {
  const source = socket.remoteAddress ?? '';
  let received: Buffer = Buffer.alloc(0);
  let waiting = 0;
  let timer: Timer | undefined;
  const isBusy = () => waiting >= maxWaiting || socket.writableNeedDrain;
  const rest = () => {
    timer?.cancel();
    timer = clock.setTimer(() => socket.destroy(), idleMs);
  };
  const respond = (answer: Buffer) => {
    waiting -= 1;
    const length = Buffer.alloc(2);
    length.writeUInt16BE(answer.length);
    socket.write(Buffer.concat([length, answer]));
    read();
  };
  const read = () => {
    while (!isBusy() && received.length >= 2) {
      const end = 2 + received.readUInt16BE(0);
      if (end > 2 + maxQueryBytes) {
        socket.destroy();
        return;
      }
      if (received.length < end) break;
      const message = received.subarray(2, end);
      received = received.subarray(end);
      waiting += 1;
      rest();
      // An immediate response re-enters this loop, which has already taken its message.
      responder(message, source, respond);
    }
    if (isBusy()) socket.pause();
    else socket.resume();
  };
  rest();
  socket.on('data', (part) => {
    received = received.length === 0 ? part : Buffer.concat([received, part]);
    read();
  });
  socket.on('drain', read);
  // Disconnects are not errors.
  socket.on('error', () => socket.destroy());
  socket.once('close', () => timer?.cancel());
}
