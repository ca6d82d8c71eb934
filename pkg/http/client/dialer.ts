/**
 * Opens connections to one server: directly or through a proxy, with or without TLS.
 *
 * Why not Node.js's agents: the protocol is known only after the TLS handshake, so the connection must exist before it
 * is handed to HTTP/1.1 or HTTP/2; and agents support neither HTTP nor SOCKS 5 proxies.
 */
import { connect as connectTcp, isIP, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { checkServerIdentity, connect as connectTls, createSecureContext, type SecureContext } from 'node:tls';
import type { Clock } from '#apimachinery/clock.js';
import { withPartialTrustChain } from '#apimachinery/net/tls-trust.js';
import type { TlsMaterial } from '#http/client/credentials.js';
import type { Dial } from '#http/client/dial.js';
import { socks5, tunnel } from '#http/client/proxy-tunnel.js';
import { TransportError } from '#http/client/transport-error.js';

export interface DialerOptions {
  readonly server: URL;
  /** Name in the server's certificate, if it is not the host. */
  readonly serverName?: string | undefined;
  readonly insecureSkipVerify?: boolean | undefined;
  readonly proxy?: URL | undefined;
  /** Also tunnels to an HTTP server through an HTTP proxy, for connections that are upgraded. */
  readonly tunnel?: boolean;
  readonly clock: Clock;
  /** Opens connections, to the proxy if there is one; absent: by TCP. */
  readonly dial?: Dial | undefined;
}

export type ApplicationProtocol = 'h2' | 'http/1.1';

export interface Dialed {
  readonly socket: Socket;
  readonly protocol: ApplicationProtocol;
}

/** Limit for TCP, proxy and TLS together. */
const dialTimeoutMs = 30_000;
const keepAliveProbeMs = 30_000;

/** Dials with one identity; a rotated certificate needs a new dialer. */
export class Dialer {
  readonly #options: DialerOptions;
  readonly #material: TlsMaterial | undefined;
  readonly #connections = new Set<Duplex>();
  #context: SecureContext | undefined;

  constructor(options: DialerOptions, material: TlsMaterial | undefined) {
    this.#options = options;
    this.#material = material;
  }

  /**
   * Opens a connection with the first of `protocols` that the server accepts. Rejects with TransportError or the
   * socket's error; nothing was sent to the server then.
   */
  async dial(protocols: readonly ApplicationProtocol[]): Promise<Dialed> {
    const { server, clock } = this.#options;
    const opened: Socket[] = [];
    const controller = new AbortController();
    const timer = clock.setTimer(() => controller.abort(), dialTimeoutMs);
    const expired = new Promise<never>((_resolve, reject) => {
      controller.signal.addEventListener('abort', () => {
        reject(new TransportError('ConnectionRefused', `cannot connect to ${server.host}: no answer in time`));
      });
    });
    try {
      return await Promise.race([this.#open(protocols, opened), expired]);
    } catch (error) {
      for (const socket of opened) socket.destroy();
      throw error;
    } finally {
      timer.cancel();
    }
  }

  /** Ends all connections immediately; the kernel discards unsent data. */
  reset(): void {
    for (const socket of this.#connections) {
      if (socket instanceof Socket) socket.resetAndDestroy();
      else socket.destroy();
    }
  }

  async #connected(where: { readonly host: string; readonly port: number }, opened: Socket[]): Promise<Socket> {
    const { dial } = this.#options;
    if (dial !== undefined) {
      // A stream through a tunnel has what is used of a socket here.
      const stream = (await dial(where)) as Socket;
      this.#connections.add(stream);
      stream.on('close', () => this.#connections.delete(stream)).on('error', () => undefined);
      opened.push(stream);
      return stream;
    }
    const socket = connectTcp(where);
    this.#connections.add(socket);
    socket.on('close', () => this.#connections.delete(socket));
    return opening(socket, 'connect', opened);
  }

  async #open(protocols: readonly ApplicationProtocol[], opened: Socket[]): Promise<Dialed> {
    const { server, proxy } = this.#options;
    const host = bareHost(server);
    const port = portOf(server);
    const through = proxy === undefined ? undefined : await this.#proxied(proxy, { host, port }, opened);
    const plain = through ?? (await this.#connected({ host, port }, opened));
    if (plain instanceof Socket) plain.setKeepAlive(true, keepAliveProbeMs).setNoDelay(true);
    if (server.protocol === 'http:') return { socket: plain, protocol: 'http/1.1' };
    const secure = connectTls({
      socket: plain,
      host,
      ...(isIP(this.#name) === 0 ? { servername: this.#name } : {}),
      secureContext: this.#secureContext(),
      rejectUnauthorized: this.#options.insecureSkipVerify !== true,
      checkServerIdentity: (_host, certificate) => checkServerIdentity(this.#name, certificate),
      ALPNProtocols: [...protocols],
    });
    await opening(secure, 'secureConnect', opened);
    return { socket: secure, protocol: secure.alpnProtocol === 'h2' ? 'h2' : 'http/1.1' };
  }

  async #proxied(proxy: URL, target: { host: string; port: number }, opened: Socket[]): Promise<Socket> {
    const host = bareHost(proxy);
    const port = portOf(proxy);
    let socket = await this.#connected({ host, port }, opened);
    if (proxy.protocol === 'https:') {
      const name = isIP(host) === 0 ? { servername: host } : {};
      socket = await opening(connectTls({ socket, host, ...name }), 'secureConnect', opened);
    }
    if (proxy.protocol.startsWith('socks5')) await socks5(socket, proxy, target);
    // For an HTTP server the proxy handles requests itself, which carry the whole URL.
    else if (this.#options.tunnel === true || this.#options.server.protocol === 'https:')
      await tunnel(socket, proxy, target);
    return socket;
  }

  get #name(): string {
    return this.#options.serverName ?? bareHost(this.#options.server);
  }

  #secureContext(): SecureContext {
    this.#context ??= createSecureContext(
      withPartialTrustChain({ ca: this.#material?.ca, cert: this.#material?.cert, key: this.#material?.key }),
    );
    return this.#context;
  }
}

/** The host without the brackets of an IPv6 address. */
function bareHost(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}

function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port);
  if (url.protocol === 'https:') return 443;
  return url.protocol === 'http:' ? 80 : 1080;
}

function opening<S extends Socket>(socket: S, event: 'connect' | 'secureConnect', opened: Socket[]): Promise<S> {
  opened.push(socket);
  // Between two owners the socket has no listener; the next owner sees that it is closed.
  socket.on('error', () => undefined);
  return new Promise((resolve, reject) => {
    const failed = (error: Error) => reject(error);
    const closed = () => reject(Object.assign(new Error('closed during the handshake'), { code: 'ECONNRESET' }));
    socket.once('error', failed);
    socket.once('close', closed);
    socket.once(event, () => {
      socket.off('error', failed);
      socket.off('close', closed);
      resolve(socket);
    });
  });
}
