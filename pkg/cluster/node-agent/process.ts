/** Starts and stops the agent and its dependencies in order. */
import type { FastifyInstance } from 'fastify';
import type { InformerFactory } from '#client/informer/informer.js';
import type { Connection } from '#client/rest/connection.js';
import type { ClientCredentials } from '#cluster/node-agent/client-credentials.js';
import type { Daemon } from '#daemon/daemon.js';
import type { Logger } from '#daemon/log/logger.js';
import { collectWhenIdle, type IdleCollectionOptions } from '#daemon/memory/idle-collector.js';
import { answerAlways, listenPlainly, plainApp } from '#daemon/serving/plain-http.js';
import type { Tracer } from '#daemon/tracing/tracer.js';
import type { CRI } from '#nodeagent/cri/cri.js';
import type { NodeAgent } from '#nodeagent/nodeagent.js';

export interface NodeAgentProcessParts {
  readonly agent: NodeAgent;
  readonly informers: InformerFactory;
  /** Absent without an API. */
  readonly connection?: Connection;
  /** The agent's credentials. */
  readonly credentials?: Pick<ClientCredentials, 'manager' | 'introduction'>;
  readonly cri: CRI;
  /** Absent: no tracing. */
  readonly tracer?: Tracer;
  /** Daemons of the node beside the agent: DNS server, service proxy, pod network. */
  readonly beside: readonly Daemon[];
  readonly log: Logger;
  /** The local health endpoint; port 0 for none. */
  readonly health: { readonly address: string; readonly port: number };
  /** Frees memory after a burst of pod starts. */
  readonly idleCollection: IdleCollectionOptions;
}

export class NodeAgentProcess implements Daemon {
  readonly name: string;
  readonly #parts: NodeAgentProcessParts;
  #health: FastifyInstance | undefined;

  constructor(parts: NodeAgentProcessParts) {
    this.name = parts.agent.name;
    this.#parts = parts;
  }

  ready(): Promise<void> {
    return this.#parts.agent.ready();
  }

  async start(signal: AbortSignal): Promise<void> {
    const { agent, beside, credentials, informers, idleCollection } = this.#parts;
    await this.#serveHealth();
    // Informers stop after the agent, which uses their caches to the end.
    const watching = new AbortController();
    const watched = informers.start(watching.signal);
    const collecting = collectWhenIdle(idleCollection, watching.signal);
    const certifying = credentials?.manager?.run(watching.signal);
    // These daemons run until the agent has ended, since ending containers may still need them.
    const accompanying = beside.map((daemon) => daemon.start(watching.signal));
    try {
      // If the informers fail, the agent must not continue with stale caches.
      await Promise.race([agent.start(signal), watched, ...accompanying]);
    } finally {
      watching.abort();
      await Promise.all([watched, collecting, certifying, ...accompanying]);
    }
  }

  async close(): Promise<void> {
    const { agent, connection, credentials, cri, tracer } = this.#parts;
    await agent.close();
    await this.#health?.close();
    await cri.close();
    await connection?.close();
    await credentials?.introduction?.close();
    await tracer?.close();
  }

  async #serveHealth(): Promise<void> {
    const { health, log } = this.#parts;
    if (health.port === 0) return;
    const app = plainApp(log);
    for (const path of ['/healthz', '/healthz/ping']) answerAlways(app, path, () => ({ status: 200, body: 'ok' }));
    await listenPlainly(app, health, log);
    this.#health = app;
  }
}
