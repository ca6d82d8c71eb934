/** The agent with what it stands on, and the order in which they start and stop. */
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
  /** Absent: there is no API. */
  readonly connection?: Connection;
  /** How it proves itself there. */
  readonly credentials?: Pick<ClientCredentials, 'manager' | 'introduction'>;
  readonly cri: CRI;
  /** Absent: nothing is traced. */
  readonly tracer?: Tracer;
  /** What the node has of its own: the cluster's name server, the service proxy. */
  readonly beside: readonly Daemon[];
  readonly log: Logger;
  /** The local health endpoint; port 0 for none. */
  readonly health: { readonly address: string; readonly port: number };
  /** Gives memory back after many pods have started at once. */
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
    // What the agent watches ends after the agent: it reads its caches to the last.
    const watching = new AbortController();
    const watched = informers.start(watching.signal);
    const collecting = collectWhenIdle(idleCollection, watching.signal);
    const certifying = credentials?.manager?.run(watching.signal);
    // They go on until the agent has ended: containers that end may still ask.
    const accompanying = beside.map((daemon) => daemon.start(watching.signal));
    try {
      // Without what it watches it would go on with what it knew once.
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
