/**
 * Connects a machine with the API servers of its cluster: a port on loopback forwards connections to a working server.
 *
 * Why not a list of servers in each client: a client config names one server, and programs such as kubectl read it. One
 * port serves all clients of the machine. Each client checks the server's certificate, which is valid for the loopback
 * address too, so the balancer need not be trusted. The price is a copy of the bytes.
 *
 * A killed server resets its connections, and clients that reconnect are forwarded to another one. An unreachable machine
 * sends nothing: a server that owes an answer is checked, and its connections are closed when another server is better.
 */
import { readFileSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { Clock, Timer } from '#apimachinery/clock.js';
import { editClientConfig } from '#cluster/clients/client-config.js';
import { betterServer, type CheckServer, serverChecker } from '#cluster/clients/server-health.js';
import { ServerRegister } from '#cluster/clients/server-list.js';
import type { ClusterContext } from '#cluster/config/cluster-context.js';
import { choosePort } from '#cluster/process/ports.js';
import type { Logger } from '#daemon/log/logger.js';

export interface BalancerOptions {
  /** Servers, `host:port`, in the order in which they are tried. Called for each connection. */
  readonly servers: () => readonly string[];
  readonly check: CheckServer;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
}

/** Connections to one server. */
interface Upstream {
  readonly clients: Set<Socket>;
  readonly detector: FailureDetector;
}

/** Time limit of a connection attempt, before the next server is tried. */
const connectMs = 1000;
const lookMs = 250;
/** Time in which a busy server answers a check. */
const quickAnswerMs = 300;
/** A machine has a few programs with a few connections each. */
const maxConnections = 1024;
const host = '127.0.0.1';

export class ServerBalancer {
  readonly name = 'balancer of API servers';
  readonly #options: BalancerOptions;
  /** Servers with connections. */
  readonly #upstreams = new Map<string, Upstream>();
  /** Servers that are being checked. */
  readonly #suspects = new Set<string>();
  readonly #clients = new Set<Socket>();
  readonly #server: Server;
  /** The server that gets new connections while it works. */
  #preferred: string | undefined;
  #timer: Timer | undefined;
  #closed = false;

  constructor(options: BalancerOptions) {
    this.#options = options;
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => void this.#forward(client));
    this.#server.maxConnections = maxConnections;
  }

  /** Listens on loopback. Rejects with the system's error. */
  listen(port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ port, host }, () => {
        this.#server.off('error', reject);
        this.#server.on('error', (err) => this.#options.log.warn({ err }, 'cannot accept a connection'));
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

  async #forward(client: Socket): Promise<void> {
    this.#clients.add(client);
    client.on('error', () => client.destroy());
    client.once('close', () => this.#clients.delete(client));
    for (const server of this.#inOrder()) {
      const upstream = await connectTo(server, this.#options.clock);
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

  /** The preferred server first. Random at the start, so that nodes spread over the servers. */
  #inOrder(): string[] {
    const servers = this.#options.servers();
    const current = servers.find((server) => server === this.#preferred);
    const preferred = current ?? servers[Math.floor(this.#options.random() * servers.length)];
    return preferred === undefined ? [] : [preferred, ...servers.filter((server) => server !== preferred)];
  }

  #prefer(server: string): void {
    if (this.#preferred === server) return;
    this.#options.log.info({ server, before: this.#preferred }, 'forwarding connections to this API server');
    this.#preferred = server;
  }

  #join(server: string, client: Socket, upstream: Socket): void {
    const { clock } = this.#options;
    const fresh = { clients: new Set<Socket>(), detector: new FailureDetector(clock.monotonic()) };
    const entry = this.#upstreams.get(server) ?? fresh;
    this.#upstreams.set(server, entry);
    const { clients, detector } = entry;
    clients.add(client);
    const end = () => {
      client.destroy();
      upstream.destroy();
      clients.delete(client);
      if (clients.size === 0 && this.#upstreams.get(server) === entry) this.#upstreams.delete(server);
    };
    for (const socket of [client, upstream]) socket.once('error', end).once('close', end);
    client.on('data', () => detector.sent(clock.monotonic())).pipe(upstream);
    upstream.on('data', () => detector.received(clock.monotonic())).pipe(client);
    this.#timer ??= clock.setTimer(() => this.#look(), lookMs);
  }

  #look(): void {
    const { clock } = this.#options;
    this.#timer = undefined;
    if (this.#closed || this.#upstreams.size === 0) return;
    for (const [server, { detector }] of this.#upstreams)
      if (detector.isSuspicious(clock.monotonic()) && !this.#suspects.has(server)) void this.#check(server, detector);
    this.#timer = clock.setTimer(() => this.#look(), lookMs);
  }

  /** Checks a server, and moves its connections when another one is better. */
  async #check(suspect: string, detector: FailureDetector): Promise<void> {
    const { check, log, servers, clock } = this.#options;
    this.#suspects.add(suspect);
    const others = servers().filter((server) => server !== suspect);
    const answer = check(suspect);
    // Usually the server was only busy and answers at once: skip the check of the others.
    const quick = await Promise.race([answer, clock.sleep(quickAnswerMs)]);
    const states =
      quick === 'ready' ? [] : await Promise.all(others.map(async (server) => [server, await check(server)] as const));
    const state = await answer;
    const replacement = betterServer(state, states);
    this.#suspects.delete(suspect);
    if (this.#closed) return;
    if (replacement === undefined) {
      // A silent server that no better one replaces is checked again in the next round.
      if (state !== 'silent') detector.checked(clock.monotonic());
      return;
    }
    log.warn({ server: suspect, instead: replacement }, 'API server does not answer; closing its connections');
    this.#prefer(replacement);
    for (const client of this.#upstreams.get(suspect)?.clients ?? []) client.destroy();
  }
}

/** Undefined when the server does not accept the connection in time. */
function connectTo(server: string, clock: Clock): Promise<Socket | undefined> {
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
    // Errors after the connection are handled where the sockets are joined.
    socket.on('error', () => done(undefined));
    socket.once('connect', () => done(socket));
  });
}

/** A working server answers or acknowledges within this. */
const answerMs = 1000;
/** Longest silence of a server without open requests. */
const idleMs = 10_000;

/** Decides from the traffic of all connections to a server when to check it. Times are of a monotonic clock; ms. */
export class FailureDetector {
  #receivedAtMs: number;
  /** Time of the first unanswered data; undefined when all was answered. */
  #sentAtMs: number | undefined;
  #timeoutMs = answerMs;

  constructor(nowMs: number) {
    this.#receivedAtMs = nowMs;
  }

  sent(nowMs: number): void {
    this.#sentAtMs ??= nowMs;
  }

  received(nowMs: number): void {
    this.#receivedAtMs = nowMs;
    this.#sentAtMs = undefined;
    this.#timeoutMs = answerMs;
  }

  /** The server passed a check: it is slow, or the data needs no answer. The timeout doubles each time. */
  checked(nowMs: number): void {
    this.#receivedAtMs = nowMs;
    if (this.#sentAtMs !== undefined) this.#sentAtMs = nowMs;
    this.#timeoutMs = Math.min(idleMs, this.#timeoutMs * 2);
  }

  /** Whether the server must be checked: it owes an answer for too long, or was silent for too long. */
  isSuspicious(nowMs: number): boolean {
    const owesMs = this.#sentAtMs === undefined ? 0 : nowMs - this.#sentAtMs;
    return owesMs >= this.#timeoutMs || nowMs - this.#receivedAtMs >= idleMs;
  }
}

/** Port beside that of API servers, so that a machine can run both. */
const preferredPort = 6444;

/** Starts the balancer and points the node's client configs at it. The caller keeps the returned servers up to date. */
export async function startApiBalancer(context: ClusterContext): Promise<ServerRegister> {
  const { clock, layout, log, running, settings } = context;
  const initial = settings.joined === undefined ? [] : [new URL(settings.joined.server).host];
  const servers = new ServerRegister(layout.servers, initial);
  const balancer = new ServerBalancer({
    servers: () => servers.all,
    check: serverChecker({ ca: readFileSync(layout.joinedCa, 'utf8'), clock }),
    random: Math.random,
    clock,
    log,
  });
  const port = await choosePort(preferredPort, host, Math.random);
  await balancer.listen(port);
  running.push(balancer);
  for (const user of ['bootstrap', `node-${settings.nodes[0]}`])
    setServer(layout.componentConfig(user), `https://${host}:${port}`);
  return servers;
}

/**
 * Sets the server of all clusters in a client config: the port may differ from that of the last start. Does nothing where
 * there is no file; throws KubeconfigErrors.
 */
export function setServer(file: string, server: string): void {
  editClientConfig(file, ({ clusters }) => {
    for (const { cluster } of clusters) {
      cluster.server = server;
      // Compression stays on: the servers are on other machines, although the address is local.
      cluster['disable-compression'] = false;
    }
  });
}
