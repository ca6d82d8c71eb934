/** Routes that every daemon's server has: health, metrics and debug endpoints. */

import type { FastifyReply } from 'fastify';
import type { Registry } from 'prom-client';
import type { DebugEndpoints } from '#daemon/debugging/debug-endpoints.js';
import type { Logger } from '#daemon/log/logger.js';
import { type MetricsView, metricsText } from '#daemon/metrics/registry.js';
import type { DaemonApp } from '#daemon/serving/daemon-app.js';
import type { HealthChecks, HealthEndpoint } from '#daemon/serving/health.js';
import { plain } from '#daemon/serving/plain-http.js';
import { queryOf } from '#daemon/serving/request-target.js';

export function addHealthRoutes(
  app: DaemonApp,
  health: HealthChecks,
  { log, endpoints }: { readonly log: Logger; readonly endpoints: readonly HealthEndpoint[] },
): void {
  for (const endpoint of endpoints) {
    const answer = async (request: { url: string }, reply: FastifyReply, name?: string) => {
      const { status, body, failures } = await health.respond(endpoint, queryOf(request), name);
      for (const { name: check, error } of failures) log.warn({ endpoint, check, err: error }, 'health check failed');
      return plain(reply, status, body);
    };
    app.get(`/${endpoint}`, (request, reply) => answer(request, reply));
    app.get(`/${endpoint}/*`, (request, reply) => answer(request, reply, (request.params as { '*': string })['*']));
  }
}

export function addMetricsRoute(app: DaemonApp, metrics: Registry | undefined, view?: MetricsView): void {
  if (metrics === undefined) return;
  app.get('/metrics', async (_request, reply) =>
    reply.header('content-type', metrics.contentType).send(await metricsText(metrics, view)),
  );
}

/** Debug bodies are numbers. */
const bodyLimitBytes = 1024;

export function addDebugRoutes(app: DaemonApp, debug: DebugEndpoints): void {
  // A scope of its own, because the daemon's routes parse other bodies. The server waits for it before listening.
  void app.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'string', bodyLimit: bodyLimitBytes }, (_request, body, read) =>
      read(null, body),
    );
    // The index links to profiles relative to a folder.
    const urls = debug.paths.flatMap((path) => (path === '/debug/pprof' ? [path, `${path}/`] : [path]));
    for (const path of urls) {
      scope.route({
        method: ['GET', 'POST', 'PUT'],
        url: path,
        handler: async (request, reply) => {
          const gone = new AbortController();
          reply.raw.once('close', () => gone.abort());
          const response = await debug.respond({
            method: request.method,
            path,
            query: queryOf(request),
            accept: request.headers.accept ?? '',
            body: () => Promise.resolve(typeof request.body === 'string' ? request.body : ''),
            signal: gone.signal,
          });
          if (response === undefined) throw new TypeError(`no endpoint at ${path}`);
          await reply.code(response.status).headers(response.headers).send(response.body);
        },
      });
    }
    done();
  });
}
