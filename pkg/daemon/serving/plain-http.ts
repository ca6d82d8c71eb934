/** Ports without TLS and authentication: health, metrics, and what a node shows to every client. */

import { type FastifyInstance, type FastifyReply, fastify } from 'fastify';
import type { Registry } from 'prom-client';
import { statusOf } from '#apimachinery/errors/status.js';
import { canonicalAddress } from '#apimachinery/net/ip.js';
import type { Logger } from '#daemon/log/logger.js';
import { metricsText } from '#daemon/metrics/registry.js';
import { http1Limits, maxHeaderBytes, standardLimits } from '#daemon/serving/connection-limits.js';
import { schemaless } from '#daemon/serving/daemon-app.js';
import { parseRequestTarget } from '#daemon/serving/request-target.js';

export interface PlainAnswer {
  readonly status: number;
  readonly body: string;
  /** Absent: plain text. */
  readonly type?: string;
}

const maxConnections = 200;

export function plainApp(log: Logger): FastifyInstance {
  const limits = http1Limits(standardLimits);
  const app: FastifyInstance = fastify({
    keepAliveTimeout: limits.keepAliveTimeout,
    requestTimeout: limits.requestTimeout,
    forceCloseConnections: true,
    http: { maxHeaderSize: maxHeaderBytes, connectionsCheckingInterval: limits.connectionsCheckingInterval },
    schemaController: schemaless,
  });
  app.server.headersTimeout = limits.headersTimeout;
  app.server.maxConnections = maxConnections;
  app.addHook('onRequest', async (request, reply) => {
    try {
      parseRequestTarget(request.method, request.raw.url ?? '/');
    } catch (error) {
      return plain(reply, 400, `${statusOf(error)?.message ?? 'bad request'}\n`);
    }
    return undefined;
  });
  app.setNotFoundHandler((_request, reply) => plain(reply, 404, '404 page not found\n'));
  app.setErrorHandler((error, request, reply) => {
    log.error({ err: error, path: request.url }, 'request failed');
    return plain(reply, 500, 'internal server error\n');
  });
  return app;
}

/** Answers every method on the path. Bodies are not read. */
export function answerAlways(
  app: FastifyInstance,
  url: string,
  answer: () => PlainAnswer | Promise<PlainAnswer>,
): void {
  const onRequest = async (_request: unknown, reply: FastifyReply) => {
    const { status, body, type } = await answer();
    return plain(reply, status, body, type);
  };
  app.all(url, { onRequest }, async () => undefined);
}

export function plain(
  reply: FastifyReply,
  code: number,
  text: string,
  type = 'text/plain; charset=utf-8',
): FastifyReply {
  return reply.code(code).type(type).header('x-content-type-options', 'nosniff').send(text);
}

/** Returns the port, or undefined if it is not available: the daemon continues without it, and the log says why. */
export async function listenPlainly(
  app: FastifyInstance,
  { address, port }: { readonly address: string; readonly port: number },
  log: Logger,
): Promise<number | undefined> {
  try {
    await app.listen({ port, host: address === '' ? '::' : address });
  } catch (error) {
    log.error({ err: error, address, port }, 'cannot listen on a port');
    return undefined;
  }
  // Accept errors, for example without free descriptors: existing connections continue.
  app.server.on('error', (error) => log.warn({ err: error, port }, 'cannot accept a connection'));
  const bound = app.server.address();
  return typeof bound === 'object' && bound !== null ? bound.port : port;
}

/** Health and metrics endpoints of a node's daemons, as in release 1.24. */
export class PlainEndpoints {
  readonly #log: Logger;
  readonly #apps: FastifyInstance[] = [];

  constructor(log: Logger) {
    this.#log = log;
  }

  /** @param at `0.0.0.0:10256`; empty: none. Resolves when it listens or has logged why it cannot. */
  async serve(at: string, path: string, answer: () => PlainAnswer | Promise<PlainAnswer>): Promise<void> {
    const where = bindAddress(at);
    if (where === undefined) return;
    const app = plainApp(this.#log);
    answerAlways(app, path, answer);
    this.#apps.push(app);
    await listenPlainly(app, where, this.#log);
  }

  serveMetrics(at: string, registry: Registry): Promise<void> {
    return this.serve(at, '/metrics', async () => ({
      status: 200,
      type: 'text/plain; version=0.0.4; charset=utf-8',
      body: await metricsText(registry),
    }));
  }

  async close(): Promise<void> {
    await Promise.all(this.#apps.map((app) => app.close()));
  }
}

/** Parses `0.0.0.0:10256` or `[::]:10256`; undefined for other text. */
export function bindAddress(text: string): { readonly address: string; readonly port: number } | undefined {
  const match = /^(?:\[([0-9a-f:.]+)\]|([0-9.]+)):(\d{1,5})$/i.exec(text);
  const address = canonicalAddress(match?.[1] ?? match?.[2] ?? '');
  const port = Number(match?.[3]);
  return address === undefined || !(port <= 65_535) ? undefined : { address, port };
}
