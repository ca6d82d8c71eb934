/**
 * Limits the requests in progress, and notices their end. One client may flood over one connection, by streams or by requests
 * that do not wait for responses; and the requests of a backend that never answers add up.
 */
import type { Socket } from 'node:net';
import { FairShare } from '#apimachinery/collections/fair-share.js';
import { addressBytes } from '#apimachinery/net/ip.js';

/** A client may have a quarter of what is free, thus a fifth if it is alone. */
const clientFactor = 0.25;
/** The backends of a service may have four fifths if they are alone. */
const serviceFactor = 4;

/** The part of a response that tells its end. */
interface Ending {
  once(event: 'close', listener: () => void): unknown;
}

export class RequestsInProgress {
  readonly #clients: FairShare<string>;
  readonly #services: FairShare<string>;
  /** By connection: what ends with it. */
  readonly #ends = new WeakMap<Socket, Set<() => void>>();

  /** `limit`: of all requests; 0: none. */
  constructor(limit: number) {
    this.#clients = new FairShare({ limit, factor: clientFactor });
    this.#services = new FairShare({ limit, factor: serviceFactor });
  }

  /**
   * Returns a function that ends the request, or names the limit that is reached. `client`: an address; undefined for a proxy,
   * which has many clients.
   */
  take(client: string | undefined, service: string): (() => void) | 'client' | 'service' {
    const ofService = this.#services.take(service);
    if (ofService === undefined) return 'service';
    const ofClient = client === undefined ? () => undefined : this.#clients.take(networkOf(client));
    if (ofClient === undefined) {
      ofService();
      return 'client';
    }
    return () => {
      ofService();
      ofClient();
    };
  }

  /**
   * Calls `ended` once, when the response is over or its client is gone. `socket`: that of HTTP/1.1, where a response behind
   * another one of its connection, or of a switched connection, does not notice the connection's end.
   */
  onceEnded(response: Ending, socket: Socket | undefined, ended: () => void): void {
    const ends = socket === undefined ? undefined : this.#endsOf(socket);
    const over = () => {
      if (ends !== undefined && !ends.delete(over)) return;
      ended();
    };
    ends?.add(over);
    response.once('close', over);
  }

  /** Whether several requests of the connection are in progress. */
  isPipelined(socket: Socket): boolean {
    return (this.#ends.get(socket)?.size ?? 0) > 1;
  }

  #endsOf(socket: Socket): Set<() => void> {
    const existing = this.#ends.get(socket);
    if (existing !== undefined) return existing;
    const ends = new Set<() => void>();
    this.#ends.set(socket, ends);
    socket.once('close', () => {
      for (const over of [...ends]) over();
    });
    return ends;
  }
}

/** Bytes of an IPv6 network that one client has: RFC 6177. */
const networkBytes = 8;

/** An IPv4 address, or the network of an IPv6 address. */
export function networkOf(address: string): string {
  const bytes = addressBytes(address);
  return bytes === undefined || bytes.length === 4
    ? address
    : Buffer.from(bytes.subarray(0, networkBytes)).toString('hex');
}
