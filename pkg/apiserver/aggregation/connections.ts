/** Kept connections to extension API servers, for each APIService its own. */
import { Agent } from 'node:https';
import type { ClientIdentityHolder } from '#apiserver/aggregation/client-identity.js';
import type { RemoteService } from '#apiserver/aggregation/remote-service.js';
import type { BackendTLS } from '#apiserver/streaming/backend.js';

export interface Channel {
  readonly tls: BackendTLS;
  readonly agent: Agent;
}

interface Kept extends Channel {
  readonly key: string;
}

/** Idle connections that are kept, for each address of a Service and in all. */
const maxIdlePerAddress = 8;
const maxIdle = 32;
/** As in 1.24. */
const idleMs = 90_000;

export class Connections {
  readonly #identity: ClientIdentityHolder;
  readonly #kept = new Map<string, Kept>();

  constructor(identity: ClientIdentityHolder) {
    this.#identity = identity;
    identity.listen(() => this.close());
  }

  /** How to connect to that server; connections made under other conditions are not used again. */
  channel({ name, connectionKey, trust }: RemoteService): Channel {
    const known = this.#kept.get(name);
    if (known?.key === connectionKey) return known;
    this.forget(name);
    const agent = new Agent({
      keepAlive: true,
      maxFreeSockets: maxIdlePerAddress,
      maxTotalSockets: Number.POSITIVE_INFINITY,
      timeout: idleMs,
      scheduling: 'lifo',
    });
    const kept = { key: connectionKey, agent, tls: { ...trust, ...this.#identity.current } };
    this.#kept.set(name, kept);
    // Addresses come and go: those that were gone to before must not add up.
    agent.on('free', () => trim(agent));
    return kept;
  }

  /** Closes idle connections; those in use end with what they are used for. */
  forget(name: string): void {
    const known = this.#kept.get(name);
    if (known === undefined) return;
    this.#kept.delete(name);
    known.agent.maxFreeSockets = 0;
    for (const socket of idle(known.agent)) socket.destroy();
  }

  close(): void {
    for (const name of [...this.#kept.keys()]) this.forget(name);
  }
}

function idle(agent: Agent) {
  return Object.values(agent.freeSockets).flatMap((sockets) => sockets ?? []);
}

function trim(agent: Agent): void {
  const sockets = idle(agent);
  for (const socket of sockets.slice(0, Math.max(0, sockets.length - maxIdle))) socket.destroy();
}
