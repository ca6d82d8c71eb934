/**
 * etcd's API over a store in memory: gRPC (KV, Watch, Lease, and of Maintenance and Cluster what clients of one member use), and
 * `/health`, `/livez`, `/readyz` and `/version`, on the same port.
 */
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttp2Server, type ServerHttp2Session } from 'node:http2';
import { type AddressInfo, createServer as createNetServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import type { Clock } from '#apimachinery/clock.js';
import type { WireReader } from '#storage/etcd/answers.js';
import { WireWriter } from '#storage/etcd/requests.js';
import type { MemoryStore } from '#storage/memory/memory-store.js';
import type { Revision } from '#storage/store.js';
import { answer, memberId, term } from '#testcluster/etcd/answers.js';
import { type GrpcMethods, GrpcServer } from '#testcluster/etcd/grpc-server.js';
import { KeyValues } from '#testcluster/etcd/key-values.js';
import { LeaseService } from '#testcluster/etcd/lease-service.js';
import { Leases } from '#testcluster/etcd/leases.js';
import { WatchStream } from '#testcluster/etcd/watches.js';

export interface EtcdServerOptions {
  readonly store: MemoryStore;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Name of the member; `default` when absent. */
  readonly name?: string;
  /** URLs that clients are told; those it listens at when absent. */
  readonly clientUrls?: readonly string[];
  readonly peerUrls?: readonly string[];
  /** Absent: without TLS. */
  readonly tls?: EtcdServerTls;
  /** Called after each answer about its health. */
  readonly onHealth?: () => void;
  /** Takes the connections of requests that leave HTTP. Absent: 404. */
  readonly onUpgrade?: (request: IncomingMessage, socket: Socket) => void;
}

export interface EtcdServerTls {
  readonly cert: string;
  readonly key: string;
  /** Clients need a certificate of this authority. */
  readonly clientCa?: string;
}

/** Release whose API it serves. */
const version = '3.5.9';
const clusterVersion = '3.5.0';

export class EtcdServer {
  readonly #options: EtcdServerOptions;
  readonly #leases: Leases;
  readonly #grpc: GrpcServer;
  readonly #servers: Server[] = [];
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #sockets = new Set<Socket>();

  constructor(options: EtcdServerOptions) {
    this.#options = options;
    const { store, clock, random } = options;
    this.#leases = new Leases({ store, clock, random });
    this.#grpc = new GrpcServer(this.#methods());
  }

  /** Listens at one more address. Rejects with the system's error. */
  async listen(host: string, port: number): Promise<AddressInfo> {
    const server = this.#options.tls === undefined ? this.#plainServer() : this.#secureServer(this.#options.tls);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host, port }, () => resolve());
    });
    this.#servers.push(server);
    return server.address() as AddressInfo;
  }

  /** Ends all connections. The store stays open. */
  async close(): Promise<void> {
    this.#leases.close();
    const closed = this.#servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve())));
    for (const session of this.#sessions) session.destroy();
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(closed);
  }

  /** Without TLS, the first bytes tell whether a client speaks HTTP/2. */
  #plainServer(): Server {
    const { http, http2 } = this.#protocols();
    return createNetServer((socket) => {
      this.#keep(socket);
      socket.once('readable', () => {
        const first = socket.read() as Buffer | null;
        if (first === null) return;
        socket.unshift(first);
        // `PRI * HTTP/2.0`: no method of HTTP/1 begins like this.
        const isHttp2 = first.subarray(0, 3).toString('latin1') === 'PRI';
        (isHttp2 ? http2 : http).emit('connection', socket);
      });
    });
  }

  #secureServer({ cert, key, clientCa }: EtcdServerTls): Server {
    const mutual = clientCa === undefined ? {} : { ca: clientCa, requestCert: true, rejectUnauthorized: true };
    const { http, http2 } = this.#protocols();
    return createTlsServer({ cert, key, ALPNProtocols: ['h2', 'http/1.1'], ...mutual }, (socket) => {
      this.#keep(socket);
      (socket.alpnProtocol === 'h2' ? http2 : http).emit('connection', socket);
    });
  }

  #protocols(): { readonly http: Server; readonly http2: Server } {
    const http2 = createHttp2Server();
    http2.on('session', (session) => this.#track(session));
    http2.on('stream', (stream, headers) => this.#grpc.serve(stream, headers));
    const http = createHttpServer((request, response) => this.#http(request, response));
    http.on('upgrade', (request, socket) => this.#upgrade(request, socket as Socket));
    return { http, http2 };
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    socket.on('error', () => socket.destroy());
  }

  #track(session: ServerHttp2Session): void {
    this.#sessions.add(session);
    session.on('error', () => session.destroy());
    session.once('close', () => this.#sessions.delete(session));
  }

  #upgrade(request: IncomingMessage, socket: Socket): void {
    const { onUpgrade } = this.#options;
    if (onUpgrade === undefined) socket.end('HTTP/1.1 404 Not Found\r\nconnection: close\r\n\r\n');
    else onUpgrade(request, socket);
  }

  #http(request: IncomingMessage, response: ServerResponse): void {
    const [path = ''] = (request.url ?? '').split('?');
    const documents: Readonly<Record<string, unknown>> = {
      '/health': { health: 'true', reason: '' },
      '/version': { etcdserver: version, etcdcluster: clusterVersion },
    };
    if (Object.hasOwn(documents, path)) {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(documents[path]), this.#options.onHealth);
    } else if (path === '/livez' || path === '/readyz') {
      response.end('ok\n');
    } else {
      response.statusCode = 404;
      response.end('404 page not found\n');
    }
  }

  get #revision(): Revision {
    return this.#options.store.read({ start: '', end: '' }).revision;
  }

  #methods(): GrpcMethods {
    const { store, clock } = this.#options;
    const leases = this.#leases;
    const kv = new KeyValues(store, leases);
    const revision = () => this.#revision;
    const lease = new LeaseService(leases, revision);
    const header = () => answer(revision());
    return {
      calls: {
        '/etcdserverpb.KV/Range': (request) => kv.range(request),
        '/etcdserverpb.KV/Put': (request) => kv.put(request),
        '/etcdserverpb.KV/DeleteRange': (request) => kv.deleteRange(request),
        '/etcdserverpb.KV/Txn': (request) => kv.transaction(request),
        '/etcdserverpb.KV/Compact': (request) => kv.compact(request),
        '/etcdserverpb.Lease/LeaseGrant': (request) => lease.grant(request),
        '/etcdserverpb.Lease/LeaseRevoke': (request) => lease.revoke(request),
        '/etcdserverpb.Lease/LeaseTimeToLive': (request) => lease.timeToLive(request),
        '/etcdserverpb.Lease/LeaseLeases': () => lease.list(),
        '/etcdserverpb.Maintenance/Status': () => this.#status(),
        // No alarm is ever raised, and nothing is fragmented.
        '/etcdserverpb.Maintenance/Alarm': header,
        '/etcdserverpb.Maintenance/Defragment': header,
        '/etcdserverpb.Cluster/MemberList': () => header().message(2, this.#member()),
      },
      streams: {
        '/etcdserverpb.Watch/Watch': (send) => new WatchStream({ store, leases, clock, send }),
        '/etcdserverpb.Lease/LeaseKeepAlive': (send) => ({
          take: (message: WireReader) => send(lease.keepAlive(message).finish()),
          close: () => undefined,
        }),
      },
    };
  }

  async #status(): Promise<WireWriter> {
    const sizes = await this.#options.store.sizes();
    const bytes = [...sizes.values()].reduce((sum, size) => sum + size, 0);
    const index = this.#revision;
    return answer(this.#revision)
      .bytes(2, version)
      .int(3, bytes)
      .int(4, memberId)
      .int(5, index)
      .int(6, term)
      .int(7, index)
      .int(9, bytes);
  }

  #member(): WireWriter {
    const { name = 'default', clientUrls = this.#ownUrls(), peerUrls = [] } = this.#options;
    const member = new WireWriter().int(1, memberId).bytes(2, name);
    for (const url of peerUrls) member.bytes(3, url);
    for (const url of clientUrls) member.bytes(4, url);
    return member;
  }

  #ownUrls(): string[] {
    const scheme = this.#options.tls === undefined ? 'http' : 'https';
    return this.#servers.map((server) => {
      const { address, port } = server.address() as AddressInfo;
      return `${scheme}://${address.includes(':') ? `[${address}]` : address}:${port}`;
    });
  }
}
