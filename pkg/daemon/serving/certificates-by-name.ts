/**
 * Chooses a TLS server's certificate by the ClientHello, for all servers of this product.
 *
 * Why not Node.js's SNICallback: it adds the certificate of the name to that of the server. If their key types differ,
 * OpenSSL has both, and the client's preference decides (TLS 1.3 clients prefer ECDSA to RSA, so they would get the
 * server's). It is not called either for a client that names no server, whose certificate 1.24 chooses by the address.
 */
import type { Server as NetServer, Socket } from 'node:net';
import { createServer, type Server, type TLSSocket, type TlsOptions } from 'node:tls';
import type { Clock } from '#apimachinery/clock.js';
import { type Greeting, type HelloPrefix, readHello } from '#daemon/serving/client-hello.js';
import type { CertificatePair } from '#daemon/serving/serving-certificate.js';

export interface CertificatesByNameOptions {
  /** True if any name has a certificate; otherwise connections take the direct way. */
  readonly hasNames: () => boolean;
  /** The same object for the same certificate; undefined: the server's own certificate. */
  readonly pairFor: (greeting: Greeting) => CertificatePair | undefined;
  /** The server's other TLS settings; read at the first connection of each pair. */
  readonly settings: () => TlsOptions;
  /** For the ClientHello, and again for the handshake. */
  readonly handshakeMs: number;
  readonly clock: Clock;
}

type ConnectionListener = (this: NetServer, socket: Socket) => void;

/** Serves the certificates on a new TLS server that does not listen yet. */
export function serveCertificatesByName(server: Server, options: CertificatesByNameOptions): void {
  const { hasNames, pairFor, handshakeMs, clock } = options;
  // The constructor of a TLS server adds the listener that begins handshakes; it is the first one.
  const [handshake, ...others] = server.listeners('connection') as ConnectionListener[];
  if (handshake === undefined) throw new Error('the server begins no handshakes');
  server.removeAllListeners('connection');
  const named = new NamedServers(server, options);
  server.on('connection', (socket: Socket) => {
    if (!hasNames()) {
      handshake.call(server, socket);
      return;
    }
    awaitHello(socket, { handshakeMs, clock }, ({ serverName }) => {
      const address = (socket.localAddress ?? '').replace(/^::ffff:/, '');
      const pair = pairFor({ serverName, address });
      if (pair === undefined) handshake.call(server, socket);
      else named.of(pair).emit('connection', socket);
    });
  });
  for (const listener of others) server.on('connection', listener);
}

/** One TLS server per certificate, which listens to no port: it makes handshakes for the server of all names. */
class NamedServers {
  readonly #outer: Server;
  readonly #options: CertificatesByNameOptions;
  /** Saves a TLS context per connection. A replaced certificate is a new pair, and the old one is collected. */
  readonly #servers = new WeakMap<CertificatePair, Server>();

  constructor(outer: Server, options: CertificatesByNameOptions) {
    this.#outer = outer;
    this.#options = options;
  }

  of(pair: CertificatePair): Server {
    const cached = this.#servers.get(pair);
    if (cached !== undefined) return cached;
    const { settings, handshakeMs } = this.#options;
    const server = createServer({ ...settings(), handshakeTimeout: handshakeMs, cert: pair.cert, key: pair.key });
    server.on('secureConnection', (socket) => this.#outer.emit('secureConnection', socket));
    server.on('tlsClientError', (error: Error, socket: TLSSocket) => this.#outer.emit('tlsClientError', error, socket));
    this.#servers.set(pair, server);
    return server;
  }
}

/**
 * Calls `complete` when the ClientHello is there, with all bytes back in the socket. A client that does not send it in
 * time, or ends before, is disconnected.
 */
function awaitHello(
  socket: Socket,
  { handshakeMs, clock }: Pick<CertificatesByNameOptions, 'handshakeMs' | 'clock'>,
  complete: (hello: Extract<HelloPrefix, { state: 'complete' }>) => void,
): void {
  let bytes: Buffer = Buffer.alloc(0);
  const timer = clock.setTimer(() => socket.destroy(), handshakeMs);
  const stop = () => {
    timer.cancel();
    socket.off('readable', read).off('end', cut).off('error', cut).off('close', stop);
  };
  const cut = () => {
    stop();
    socket.destroy();
  };
  const read = () => {
    for (let chunk = socket.read() as Buffer | null; chunk !== null; chunk = socket.read() as Buffer | null) {
      bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
    }
    const hello = readHello(bytes);
    if (hello.state === 'incomplete') return;
    stop();
    socket.unshift(bytes);
    complete(hello);
  };
  socket.on('readable', read).on('end', cut).on('error', cut).on('close', stop);
}
