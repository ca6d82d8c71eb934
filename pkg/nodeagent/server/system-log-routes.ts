import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { DaemonApp } from '#daemon/serving/daemon-app.js';
import { parseRequestTarget } from '#daemon/serving/request-target.js';
import { type SystemLogsOptions, systemLogs } from '#daemon/serving/system-logs.js';

/** `/logs/` of the node. */
export function addSystemLogRoutes(app: DaemonApp, options: SystemLogsOptions): void {
  const answer = async (request: FastifyRequest, reply: FastifyReply) => {
    const { status, headers, body } = await systemLogs(parseRequestTarget(request.method, request.url), options);
    return reply
      .code(status)
      .headers(headers)
      .send(typeof body === 'string' ? body : Readable.from(body));
  };
  for (const url of ['/logs', '/logs/', '/logs/*']) app.get(url, answer);
}
