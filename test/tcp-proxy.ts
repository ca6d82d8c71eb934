/** A TCP proxy between a test's client and server that can pause or cut its traffic. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface TcpProxy {
  /** `http://127.0.0.1:PORT` */
  readonly endpoint: string;
  /** Number of accepted connections. */
  readonly connections: number;
  /** Pauses both directions; connections stay open. */
  hold(): void;
  /** Ends all connections, and new ones immediately. */
  cut(): void;
  /** Resumes, including paused data. */
  pass(): void;
  stop(): Promise<void>;
}

/** Starts a proxy to `http://HOST:PORT`. */
export async function startTcpProxy(target: string): Promise<TcpProxy> {
  const { hostname, port } = new URL(target);
  let state: 'pass' | 'hold' | 'cut' = 'pass';
  let connections = 0;
  const sockets = new Set<Socket>();
  const track = (socket: Socket) => {
    sockets.add(socket);
    // The other side notices the end.
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    if (state === 'hold') socket.pause();
  };
  const server = createServer((incoming) => {
    connections++;
    if (state === 'cut') return incoming.destroy();
    const outgoing = connect({ host: hostname, port: Number(port) });
    const pairs: [Socket, Socket][] = [
      [incoming, outgoing],
      [outgoing, incoming],
    ];
    for (const [from, to] of pairs) {
      from.on('data', (bytes) => {
        if (!to.write(bytes)) from.pause();
      });
      from.on('end', () => to.end());
      from.on('close', () => to.destroy());
      to.on('drain', () => {
        if (state !== 'hold') from.resume();
      });
      track(from);
    }
    return undefined;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cutAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get connections() {
      return connections;
    },
    hold() {
      state = 'hold';
      for (const socket of sockets) socket.pause();
    },
    cut() {
      state = 'cut';
      cutAll();
    },
    pass() {
      state = 'pass';
      for (const socket of sockets) socket.resume();
    },
    async stop() {
      cutAll();
      server.close();
      await once(server, 'close');
    },
  };
}
