/**
 * Divides a server's connections among its clients. An address may have as many as are free, so that one has at most half of
 * them. Behind one address may be many users, some of them honest: a new connection is never refused, but closes the oldest
 * one of the user that has most.
 */
import { isIPv6 } from 'node:net';

/** The part of a socket that ends it. */
export interface Closable {
  destroy(): unknown;
}

/** A connection of a user at an address. */
export interface HeldConnection {
  readonly address: string;
  /** Empty before a request was authenticated. */
  readonly user: string;
}

interface Held extends HeldConnection {
  user: string;
  readonly socket: Closable;
}

/** Connections by user, oldest first. */
type Users = Map<string, Set<Held>>;

interface Client {
  count: number;
  readonly users: Users;
}

export class ClientConnections {
  readonly #most: number;
  readonly #clients = new Map<string, Client>();
  #count = 0;

  /** `most`: limit of all connections. */
  constructor(most: number) {
    this.#most = most;
  }

  get count(): number {
    return this.#count;
  }

  /** Adds a connection, and closes another one if there are too many. */
  add(remoteAddress: string, socket: Closable): HeldConnection {
    const address = networkOf(remoteAddress);
    const own = this.#clients.get(address);
    const free = this.#most - this.#count;
    if (own !== undefined && own.count >= free) this.#close(own);
    else if (free <= 0) this.#close(this.#largest());
    const held: Held = { address, user: '', socket };
    const client = this.#clients.get(address) ?? { count: 0, users: new Map() };
    this.#clients.set(address, client);
    client.count += 1;
    this.#count += 1;
    put(client.users, held);
    return held;
  }

  /** Sets the user of a connection. */
  claim(connection: HeldConnection, user: string): void {
    const held = connection as Held;
    const users = this.#clients.get(held.address)?.users;
    if (users?.get(held.user)?.has(held) !== true) return;
    drop(users, held);
    held.user = user;
    put(users, held);
  }

  /** Idempotent. */
  remove(connection: HeldConnection): void {
    const held = connection as Held;
    const client = this.#clients.get(held.address);
    if (client === undefined || !drop(client.users, held)) return;
    client.count -= 1;
    this.#count -= 1;
    if (client.count === 0) this.#clients.delete(held.address);
  }

  #largest(): Client | undefined {
    let largest: Client | undefined;
    for (const client of this.#clients.values()) if (client.count > (largest?.count ?? 0)) largest = client;
    return largest;
  }

  #close(client: Client | undefined): void {
    let most: Set<Held> | undefined;
    for (const each of client?.users.values() ?? []) if (each.size > (most?.size ?? 0)) most = each;
    const [oldest] = most ?? [];
    if (oldest === undefined) return;
    this.remove(oldest);
    oldest.socket.destroy();
  }
}

function put(users: Users, held: Held): void {
  const all = users.get(held.user);
  if (all === undefined) users.set(held.user, new Set([held]));
  else all.add(held);
}

function drop(users: Users, held: Held): boolean {
  const all = users.get(held.user);
  if (all?.delete(held) !== true) return false;
  if (all.size === 0) users.delete(held.user);
  return true;
}

/** Bits of an IPv6 network that one client has: RFC 6177. */
const networkGroups = 4;

/** An IPv4 address, or the /64 network of an IPv6 address. */
export function networkOf(address: string): string {
  const mapped = /^::ffff:([0-9.]+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(address)) return address;
  const [plain = ''] = address.split('%');
  const [head = '', tail] = plain.split('::');
  const first = head === '' ? [] : head.split(':');
  if (tail === undefined) return first.slice(0, networkGroups).join(':');
  const last = tail === '' ? 0 : tail.split(':').length;
  const all = [
    ...first,
    ...Array.from({ length: Math.max(0, 8 - first.length - last) }, () => '0'),
    ...tail.split(':'),
  ];
  return all.slice(0, networkGroups).join(':');
}
