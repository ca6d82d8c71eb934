/**
 * The way from one machine to the API servers of its cluster: a port on loopback, from which connections are passed on to
 * a server that works.
 *
 * Why not a list of servers in each client: client configs have one server, and so have the programs that read them,
 * kubectl among them. One port serves the agent, its proxies and every other client of the machine; each of them still
 * checks the server's certificate, which is for this loopback address too, so nothing here has to be trusted. It costs a
 * copy of the bytes.
 *
 * A server that is killed resets its connections, and clients that come again are passed on to another one. A machine that
 * is cut off says nothing at all: servers that owe an answer are asked how they are, and where another one is better, their
 * connections are ended.
 */

import { connect, createServer, type Server, type Socket } from 'node:net';
import type { Clock, Timer } from '#apimachinery/clock.js';
import { type AskServer, heirOf } from '#cmd/orch/servers/ask-server.js';
import type { Logger } from '#daemon/log/logger.js';

export interface BalancerOptions {
  /** By `host:port`, in the order in which they are tried. Asked for each connection. */
  readonly servers: () => readonly string[];
  readonly ask: AskServer;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
}

/** Connections to one server. */
interface Upstream {
  readonly clients: Set<Socket>;
  readonly silence: Silence;
}

/** A machine that swallows packets must not hold up those who could be passed on to another one. */
const connectMs = 1000;
const lookMs = 250;
const atOnceMs = 300;
/** A machine has a few programs with a few connections each. */
const maxConnections = 1024;
const host = '127.0.0.1';

export class ServerBalancer {
  readonly name = 'way to the API servers';
  readonly #options: BalancerOptions;
  /** By server; those that have connections. */
  readonly #upstreams = new Map<string, Upstream>();
  /** Those that are being asked whether they are ready. */
  readonly #doubted = new Set<string>();
  readonly #clients = new Set<Socket>();
  readonly #server: Server;
  /** The one that connections are passed on to while it works. */
  #preferred: string | undefined;
  #timer: Timer | undefined;
  #closed = false;

  constructor(options: BalancerOptions) {
    this.#options = options;
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => void this.#pass(client));
    this.#server.maxConnections = maxConnections;
  }

  /** Listens on loopback. Rejects with the system's error. */
  listen(port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ port, host }, () => {
        this.#server.off('error', reject);
        this.#server.on('error', (err) => this.#options.log.warn({ err }, 'no connection could be taken'));
        resolve();
      });
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    for (const client of this.#clients) client.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #pass(client: Socket): Promise<void> {
    this.#clients.add(client);
    client.on('error', () => client.destroy());
    client.once('close', () => this.#clients.delete(client));
    for (const server of this.#inOrder()) {
      const upstream = await connected(server, this.#options.clock);
      if (client.destroyed || this.#closed) {
        upstream?.destroy();
        break;
      }
      if (upstream === undefined) continue;
      this.#prefer(server);
      this.#join(server, client, upstream);
      return;
    }
    client.destroy();
  }

  /** The one in use first; nodes that start begin with different ones. */
  #inOrder(): string[] {
    const servers = this.#options.servers();
    const known = servers.find((server) => server === this.#preferred);
    const preferred = known ?? servers[Math.floor(this.#options.random() * servers.length)];
    return preferred === undefined ? [] : [preferred, ...servers.filter((server) => server !== preferred)];
  }

  #prefer(server: string): void {
    if (this.#preferred === server) return;
    this.#options.log.info({ server, before: this.#preferred }, 'connections go to this API server');
    this.#preferred = server;
  }

  #join(server: string, client: Socket, upstream: Socket): void {
    const { clock } = this.#options;
    const known = this.#upstreams.get(server) ?? { clients: new Set(), silence: new Silence(clock.monotonic()) };
    this.#upstreams.set(server, known);
    const { clients, silence } = known;
    clients.add(client);
    const end = () => {
      client.destroy();
      upstream.destroy();
      clients.delete(client);
      if (clients.size === 0 && this.#upstreams.get(server) === known) this.#upstreams.delete(server);
    };
    for (const socket of [client, upstream]) socket.once('error', end).once('close', end);
    client.on('data', () => silence.sent(clock.monotonic())).pipe(upstream);
    upstream.on('data', () => silence.heard(clock.monotonic())).pipe(client);
    this.#timer ??= clock.setTimer(() => this.#look(), lookMs);
  }

  #look(): void {
    const { clock } = this.#options;
    this.#timer = undefined;
    if (this.#closed || this.#upstreams.size === 0) return;
    for (const [server, { silence }] of this.#upstreams)
      if (silence.isSuspicious(clock.monotonic()) && !this.#doubted.has(server)) void this.#doubt(server, silence);
    this.#timer = clock.setTimer(() => this.#look(), lookMs);
  }

  /** Moves to another server where that is better than this one. */
  async #doubt(suspect: string, silence: Silence): Promise<void> {
    const { ask, log, servers, clock } = this.#options;
    this.#doubted.add(suspect);
    const others = servers().filter((server) => server !== suspect);
    const answer = ask(suspect);
    // Nearly always it was only busy, and says so at once: then the others are left alone.
    const soon = await Promise.race([answer, clock.sleep(atOnceMs)]);
    const states =
      soon === 'ready' ? [] : await Promise.all(others.map(async (server) => [server, await ask(server)] as const));
    const state = await answer;
    const heir = heirOf(state, states);
    this.#doubted.delete(suspect);
    if (this.#closed) return;
    if (heir === undefined) {
      // One that is silent, when there is no better one, is asked again at the next look.
      if (state !== 'silent') silence.explained(clock.monotonic());
      return;
    }
    log.warn({ server: suspect, instead: heir }, 'an API server does not answer; its connections are ended');
    this.#prefer(heir);
    for (const client of this.#upstreams.get(suspect)?.clients ?? []) client.destroy();
  }
}

/** Undefined where nobody answers in time. */
function connected(server: string, clock: Clock): Promise<Socket | undefined> {
  const { hostname, port } = new URL(`https://${server}`);
  return new Promise((resolve) => {
    const address = hostname.replace(/^\[|\]$/g, '');
    const socket = connect({ host: address, port: Number(port || 443), allowHalfOpen: true, noDelay: true });
    const done = (outcome: Socket | undefined) => {
      limit.cancel();
      if (outcome === undefined) socket.destroy();
      resolve(outcome);
    };
    const limit = clock.setTimer(() => done(undefined), connectMs);
    // Whoever joins it to another hears of what comes later.
    socket.on('error', () => done(undefined));
    socket.once('connect', () => done(socket));
  });
}

/** A server that has been sent something answers, or acknowledges it, within this. */
const answerMs = 1000;
/** A server without requests under way may be silent for longer. */
const idleMs = 10_000;

/**
 * What was seen of one server over all connections to it, and when to ask a silent one whether it is still there.
 * Instants are of a monotonic clock; ms.
 */
export class Silence {
  #heardAtMs: number;
  /** When something was sent that nothing has come after; undefined: all was answered. */
  #askedAtMs: number | undefined;
  #patienceMs = answerMs;

  constructor(nowMs: number) {
    this.#heardAtMs = nowMs;
  }

  sent(nowMs: number): void {
    this.#askedAtMs ??= nowMs;
  }

  heard(nowMs: number): void {
    this.#heardAtMs = nowMs;
    this.#askedAtMs = undefined;
    this.#patienceMs = answerMs;
  }

  /**
   * It was asked and is well: it only takes its time, or what it was sent needs no answer. Each time it is left alone for
   * longer.
   */
  explained(nowMs: number): void {
    this.#heardAtMs = nowMs;
    if (this.#askedAtMs !== undefined) this.#askedAtMs = nowMs;
    this.#patienceMs = Math.min(idleMs, this.#patienceMs * 2);
  }

  /** Whether it must be asked: it may be gone without a word, as a machine does that is cut off. */
  isSuspicious(nowMs: number): boolean {
    const owesMs = this.#askedAtMs === undefined ? 0 : nowMs - this.#askedAtMs;
    return owesMs >= this.#patienceMs || nowMs - this.#heardAtMs >= idleMs;
  }
}
