/** Connections whose first one negotiates the protocol: HTTP/2 if the server supports it, else HTTP/1.1. */
import type { Socket } from 'node:net';
import { unlessAborted } from '#apimachinery/async/abort.js';
import type { Clock } from '#apimachinery/clock.js';
import {
  abortError,
  type Connections,
  type ExchangeRequest,
  type ExchangeResponse,
  UnsentError,
} from '#http/client/connections.js';
import type { TlsMaterial } from '#http/client/credentials.js';
import type { Dial } from '#http/client/dial.js';
import { type ApplicationProtocol, Dialer } from '#http/client/dialer.js';
import { Http1Connections } from '#http/client/http1-connections.js';
import { Http2Connections } from '#http/client/http2-connections.js';
import { proxyAuthorization } from '#http/client/proxy-tunnel.js';

export interface NegotiatedConnectionsOptions {
  readonly server: URL;
  readonly serverName?: string | undefined;
  readonly insecureSkipVerify?: boolean | undefined;
  readonly proxy?: URL | undefined;
  readonly clock: Clock;
  /** Opens connections; absent: by TCP. */
  readonly dial?: Dial | undefined;
}

/** Immediate retries of a request that the server did not accept. */
const maxUnsentRetries = 3;

export class NegotiatedConnections implements Connections {
  readonly #options: NegotiatedConnectionsOptions;
  readonly #dialer: Dialer;
  #negotiation: Promise<Connections> | undefined;
  #connections: Connections | undefined;
  #retired = false;
  #destroyed = false;

  constructor(options: NegotiatedConnectionsOptions, material: TlsMaterial | undefined) {
    this.#options = options;
    this.#dialer = new Dialer(options, material);
  }

  /** Repeats a request, whatever its method, if it certainly did not reach the server. */
  async send(request: ExchangeRequest): Promise<ExchangeResponse> {
    for (let retries = 0; ; retries += 1) {
      try {
        const channel = await unlessAborted(this.#current(), request.signal, abortError);
        return await channel.send(request);
      } catch (error) {
        const again = error instanceof UnsentError && retries < maxUnsentRetries && !this.#retired;
        if (!again || request.signal.aborted) throw error;
      }
    }
  }

  retire(): void {
    this.#retired = true;
    this.#connections?.retire();
  }

  destroy(): void {
    this.#retired = true;
    this.#destroyed = true;
    this.#connections?.destroy();
  }

  /** Like `destroy`; the kernel also discards data that it has not sent. */
  reset(): void {
    this.#dialer.reset();
    this.destroy();
  }

  /** All requests wait for the first connection. */
  #current(): Promise<Connections> {
    if (this.#negotiation === undefined) {
      const making = this.#negotiate();
      this.#negotiation = making;
      making.catch(() => {
        if (this.#negotiation === making) this.#negotiation = undefined;
      });
    }
    return this.#negotiation;
  }

  async #negotiate(): Promise<Connections> {
    if (this.#options.server.protocol === 'http:') return this.#adopt(this.#http1(undefined));
    const { socket, protocol } = await this.#dialer.dial(['h2', 'http/1.1']);
    return this.#adopt(protocol === 'h2' ? this.#http2(socket) : this.#http1(socket));
  }

  #adopt(channel: Connections): Connections {
    this.#connections = channel;
    if (this.#destroyed) channel.destroy();
    else if (this.#retired) channel.retire();
    return channel;
  }

  #http1(first: Socket | undefined): Http1Connections {
    const { server, proxy } = this.#options;
    const direct = { authority: server.host, first, dial: () => this.#dial('http/1.1') };
    if (server.protocol !== 'http:' || proxy === undefined || proxy.protocol.startsWith('socks5')) {
      return new Http1Connections(direct);
    }
    const credentials = proxyAuthorization(proxy);
    return new Http1Connections({
      ...direct,
      pathPrefix: server.origin,
      ...(credentials === undefined ? {} : { headers: { 'proxy-authorization': credentials } }),
    });
  }

  #http2(first: Socket): Http2Connections {
    const { server, clock } = this.#options;
    return new Http2Connections({ origin: server.origin, clock, first, dial: () => this.#dial('h2') });
  }

  async #dial(required: ApplicationProtocol): Promise<Socket> {
    const { socket, protocol } = await this.#dialer.dial(required === 'h2' ? ['h2', 'http/1.1'] : ['http/1.1']);
    if (protocol === required) return socket;
    // A different server answers at this address now: negotiate again.
    socket.destroy();
    this.#negotiation = undefined;
    this.#connections?.retire();
    throw new UnsentError('the server does not speak HTTP/2 any more');
  }
}
