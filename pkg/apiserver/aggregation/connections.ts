/** Keep-alive connections to extension API servers, one pool per APIService. */
import { Agent } from 'node:https';
import type { ClientIdentityHolder } from '#apiserver/aggregation/client-identity.js';
import type { RemoteService } from '#apiserver/aggregation/remote-service.js';
import type { BackendTLS } from '#apiserver/streaming/backend.js';
import type { Dial } from '#http/client/dial.js';
import { DialedHttpsAgent } from '#http/client/dialed-agent.js';

export interface Channel {
  readonly tls: BackendTLS;
  readonly agent: Agent;
  /** Opens connections; undefined: directly. */
  readonly dial: Dial | undefined;
}

interface PooledChannel extends Channel {
  readonly key: string;
}

/** Limit of idle connections, per address and per APIService. */
const maxIdlePerAddress = 8;
const maxIdle = 32;
/** Idle connections close after this time, as in 1.24. */
const idleMs = 90_000;

export class Connections {
  readonly #identity: ClientIdentityHolder;
  readonly #dial: Dial | undefined;
  readonly #channels = new Map<string, PooledChannel>();

  /** `dial`: opens connections; absent: directly. */
  constructor(identity: ClientIdentityHolder, dial?: Dial) {
    this.#identity = identity;
    this.#dial = dial;
    identity.listen(() => this.close());
  }

  /** The server's channel; when `connectionKey` changes, old connections are not reused. */
  channel({ name, connectionKey, trust }: RemoteService): Channel {
    const existing = this.#channels.get(name);
    if (existing?.key === connectionKey) return existing;
    this.forget(name);
    const dial = this.#dial;
    const pooling = {
      keepAlive: true,
      maxFreeSockets: maxIdlePerAddress,
      maxTotalSockets: Number.POSITIVE_INFINITY,
      timeout: idleMs,
      scheduling: 'lifo',
    } as const;
    const agent = dial === undefined ? new Agent(pooling) : new DialedHttpsAgent(dial, pooling);
    const channel = { key: connectionKey, agent, dial, tls: { ...trust, ...this.#identity.current } };
    this.#channels.set(name, channel);
    // Close old connections: they would pile up, since addresses change.
    agent.on('free', () => trim(agent));
    return channel;
  }

  /** Closes idle connections; busy ones close after their requests. */
  forget(name: string): void {
    const existing = this.#channels.get(name);
    if (existing === undefined) return;
    this.#channels.delete(name);
    existing.agent.maxFreeSockets = 0;
    for (const socket of idle(existing.agent)) socket.destroy();
  }

  close(): void {
    for (const name of [...this.#channels.keys()]) this.forget(name);
  }
}

function idle(agent: Agent) {
  return Object.values(agent.freeSockets).flatMap((sockets) => sockets ?? []);
}

function trim(agent: Agent): void {
  const sockets = idle(agent);
  for (const socket of sockets.slice(0, Math.max(0, sockets.length - maxIdle))) socket.destroy();
}
