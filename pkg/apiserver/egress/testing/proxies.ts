/** Proxies of the tests' own: HTTP CONNECT over a Unix socket or TLS, and konnectivity's protocol over gRPC. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server as NetServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { Server as GrpcServer, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js';
import { decodePacket, encodePacket, type Packet } from '#apiserver/egress/packet.js';

/** What a proxy was asked for, and where it leads instead of to names that only it knows. */
export interface ProxyState {
  readonly targets: string[];
  /** Real address of a target. */
  readonly names: Map<string, string>;
  /** Refuses the target; undefined: connects. */
  refuse: string | undefined;
}

interface RunningProxy extends ProxyState {
  /** Path of the socket, or the port. */
  readonly address: string | number;
  close(): void;
}

function newState(): ProxyState {
  return { targets: [], names: new Map(), refuse: undefined };
}

function connectTo({ names, targets }: ProxyState, target: string): Socket {
  targets.push(target);
  const [, host = '', port = ''] = /^\[?(.*?)\]?:(\d+)$/.exec(names.get(target) ?? target) ?? [];
  return connect({ host, port: Number(port) });
}

function serveConnect(state: ProxyState, socket: Socket): void {
  socket.on('error', () => undefined);
  let head = '';
  const read = (chunk: Buffer) => {
    head += chunk.toString('latin1');
    if (!head.includes('\r\n\r\n')) return;
    socket.off('data', read);
    const target = /^CONNECT (\S+) HTTP\/1\.1\r\n/.exec(head)?.[1] ?? '';
    if (state.refuse !== undefined) {
      state.targets.push(target);
      socket.end(`HTTP/1.1 ${state.refuse}\r\n\r\n`);
      return;
    }
    const onward = connectTo(state, target);
    onward.once('connect', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      socket.pipe(onward).pipe(socket);
    });
    onward.on('error', () => socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n')).on('close', () => socket.destroy());
    socket.on('close', () => onward.destroy());
  };
  socket.on('data', read);
}

async function running(server: NetServer, state: ProxyState, where: string | number): Promise<RunningProxy> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => sockets.add(socket.on('error', () => undefined)));
  if (typeof where === 'string') server.listen(where);
  else server.listen(where, '127.0.0.1');
  await once(server, 'listening');
  const address = typeof where === 'string' ? where : (server.address() as AddressInfo).port;
  const close = () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  return Object.assign(state, { address, close });
}

/** HTTP CONNECT on a Unix socket. */
export function startSocketProxy(path: string): Promise<RunningProxy> {
  const state = newState();
  return running(
    createServer((socket) => serveConnect(state, socket)),
    state,
    path,
  );
}

/** HTTP CONNECT on a port, with TLS and client certificates. */
export function startTlsProxy(tls: {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}): Promise<RunningProxy> {
  const state = newState();
  const server = createTlsServer({ ...tls, requestCert: true, rejectUnauthorized: true }, (socket) =>
    serveConnect(state, socket),
  );
  server.on('tlsClientError', () => undefined);
  return running(server, state, 0);
}

/** Konnectivity's protocol on a Unix socket. */
export async function startTunnelProxy(path: string): Promise<RunningProxy> {
  const state = newState();
  const server = new GrpcServer();
  let lastId = 2n ** 40n;
  server.addService(
    {
      Proxy: {
        path: '/ProxyService/Proxy',
        requestStream: true,
        responseStream: true,
        requestSerialize: encodePacket,
        requestDeserialize: decodePacket,
        responseSerialize: encodePacket,
        responseDeserialize: decodePacket,
      },
    },
    {
      Proxy: (call: ServerDuplexStream<Packet, Packet>) => {
        lastId += 1n;
        serveTunnel(state, call, lastId);
      },
    },
  );
  await new Promise<void>((resolve, reject) => {
    const done = (error: Error | null) => (error === null ? resolve() : reject(error));
    server.bindAsync(`unix:${path}`, ServerCredentials.createInsecure(), done);
  });
  return Object.assign(state, { address: path, close: () => server.forceShutdown() });
}

function serveTunnel(state: ProxyState, call: ServerDuplexStream<Packet, Packet>, connectId: bigint): void {
  let onward: Socket | undefined;
  let closed = false;
  const over = () => {
    if (closed) return;
    closed = true;
    call.write({ type: 'CLOSE_RSP', error: '', connectId });
  };
  call.on('error', () => onward?.destroy());
  call.on('cancelled', () => onward?.destroy());
  call.on('end', () => {
    onward?.destroy();
    call.end();
  });
  call.on('data', (packet: Packet) => {
    if (packet.type === 'DIAL_REQ') {
      const { random } = packet;
      const answer = (error: string) => call.write({ type: 'DIAL_RSP', error, connectId, random });
      if (state.refuse !== undefined) {
        state.targets.push(packet.address);
        answer(state.refuse);
        return;
      }
      onward = connectTo(state, packet.address);
      onward.once('connect', () => answer(''));
      onward.on('data', (data: Buffer) => {
        if (!call.write({ type: 'DATA', connectId, data })) {
          onward?.pause();
          call.once('drain', () => onward?.resume());
        }
      });
      onward.on('error', (error) => answer(error.message)).on('close', over);
    } else if (packet.type === 'DATA' && onward?.write(packet.data) === false) {
      call.pause();
      onward.once('drain', () => call.resume());
    } else if (packet.type === 'CLOSE_REQ') {
      if (onward === undefined) over();
      else onward.end();
    }
  });
}
