/** What serves every port of a daemon that has neither TLS nor authentication: health, metrics, and what a node shows to all. */
import { type FastifyInstance, type FastifyReply, fastify } from 'fastify';
import { statusOf } from '#apimachinery/errors/status.js';
import type { Logger } from '#daemon/log/logger.js';
import { http1Limits, maxHeaderBytes, standardLimits } from '#daemon/serving/connection-limits.js';
import { parseRequestTarget } from '#daemon/serving/request-target.js';
import { schemaless } from '#daemon/serving/schemaless.js';

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
    log.error({ err: error, path: request.url }, 'Request failed');
    return plain(reply, 500, 'internal server error\n');
  });
  return app;
}

/** Answers the path alike for every method. Bodies are not read. */
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

/** The port; undefined when it cannot be listened at: what the daemon is there for goes on without, and the log says why. */
export async function listenPlainly(
  app: FastifyInstance,
  { address, port }: { readonly address: string; readonly port: number },
  log: Logger,
): Promise<number | undefined> {
  try {
    await app.listen({ port, host: address === '' ? '::' : address });
  } catch (error) {
    log.error({ err: error, address, port }, 'A port cannot be listened at');
    return undefined;
  }
  // Connections that cannot be accepted, for want of descriptors for example: those there are go on.
  app.server.on('error', (error) => log.warn({ err: error, port }, 'Cannot accept a connection'));
  const bound = app.server.address();
  return typeof bound === 'object' && bound !== null ? bound.port : port;
}
