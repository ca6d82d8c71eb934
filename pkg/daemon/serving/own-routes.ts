/** What every server of a daemon tells of the daemon itself: how it is, and its series. */
import type { FastifyReply } from 'fastify';
import type { Registry } from 'prom-client';
import type { Logger } from '#daemon/log/logger.js';
import { type MetricsView, metricsText } from '#daemon/metrics/registry.js';
import type { DaemonApp } from '#daemon/serving/daemon-app.js';
import type { HealthChecks, HealthEndpoint } from '#daemon/serving/health.js';
import { plain } from '#daemon/serving/plain-app.js';
import { queryOf } from '#daemon/serving/request-target.js';

export function addHealthRoutes(
  app: DaemonApp,
  health: HealthChecks,
  { log, endpoints }: { readonly log: Logger; readonly endpoints: readonly HealthEndpoint[] },
): void {
  for (const endpoint of endpoints) {
    const answer = async (request: { url: string }, reply: FastifyReply, name?: string) => {
      const { status, body, failures } = await health.respond(endpoint, queryOf(request), name);
      for (const { name: check, error } of failures) log.warn({ endpoint, check, err: error }, 'Health check failed');
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
