/** The port without authentication, over plain HTTP: what release 1.24 shows there, and nothing that acts. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type FastifyInstance, fastify } from 'fastify';
import { statusOf } from '#apimachinery/errors/status.js';
import type { Logger } from '#daemon/log/logger.js';
import { http1Limits, maxHeaderBytes, standardLimits } from '#daemon/serving/connection-limits.js';
import type { DaemonApp } from '#daemon/serving/daemon-app.js';
import { parseRequestTarget } from '#daemon/serving/request-target.js';
import { schemaless } from '#daemon/serving/schemaless.js';
import { plain } from '#nodeagent/server/plain-answers.js';

export interface ReadOnlyServerOptions {
  readonly address: string;
  readonly port: number;
  readonly log: Logger;
  readonly routes: (app: DaemonApp) => void;
  readonly onRequest: ((method: string, url: string) => () => void) | undefined;
}

const maxConnections = 200;

export interface ReadOnlyServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Undefined when the port cannot be listened on: the node goes on without, and the log says why. */
export async function serveReadOnly(options: ReadOnlyServerOptions): Promise<ReadOnlyServer | undefined> {
  const { address, port, log, onRequest } = options;
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
  // Routes know nothing of what carries their requests.
  options.routes(app as unknown as DaemonApp);
  if (onRequest !== undefined) {
    app.server.on('request', ({ method = '', url = '' }: IncomingMessage, response: ServerResponse) => {
      response.once('close', onRequest(method, url));
    });
  }
  try {
    await app.listen({ port, host: address === '' ? '::' : address });
  } catch (error) {
    log.error({ err: error, port }, 'The read-only server cannot listen');
    return undefined;
  }
  const bound = app.server.address();
  return { port: typeof bound === 'object' && bound !== null ? bound.port : port, close: () => app.close() };
}
