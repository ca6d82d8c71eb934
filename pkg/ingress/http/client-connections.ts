/** The connections of clients: how many there may be, and all of them when the controller ends. */
import type { Socket } from 'node:net';
import type { IngressLimits } from '#ingress/http/limits.js';
import type { IngressMetrics } from '#ingress/metrics/ingress-metrics.js';

export interface ClientConnectionsOptions {
  readonly limits: Pick<IngressLimits, 'maxConnections' | 'maxConnectionsPerClient'>;
  readonly metrics: IngressMetrics;
  /** Proxies in front have many clients behind one address. */
  readonly isTrusted: (address: string) => boolean;
}

export class ClientConnections {
  readonly #options: ClientConnectionsOptions;
  readonly #open = new Set<Socket>();
  readonly #byAddress = new Map<string, number>();

  constructor(options: ClientConnectionsOptions) {
    this.#options = options;
  }

  /** False: there are too many, and the connection is closed. */
  add(socket: Socket): boolean {
    const { isTrusted, limits, metrics } = this.#options;
    const address = socket.remoteAddress ?? '';
    const held = this.#byAddress.get(address) ?? 0;
    const isFull = limits.maxConnections > 0 && this.#open.size >= limits.maxConnections;
    const isGreedy =
      limits.maxConnectionsPerClient > 0 && held >= limits.maxConnectionsPerClient && !isTrusted(address);
    if (isFull || isGreedy) {
      metrics.rejectedConnections.inc({ limit: isFull ? 'all' : 'client' });
      socket.destroy();
      return false;
    }
    this.#open.add(socket);
    this.#byAddress.set(address, held + 1);
    metrics.connections.inc();
    socket.once('close', () => this.#closed(socket, address));
    return true;
  }

  destroy(): void {
    for (const socket of this.#open) socket.destroy();
  }

  #closed(socket: Socket, address: string): void {
    this.#open.delete(socket);
    this.#options.metrics.connections.dec();
    const left = (this.#byAddress.get(address) ?? 1) - 1;
    if (left === 0) this.#byAddress.delete(address);
    else this.#byAddress.set(address, left);
  }
}
