/** A server on this machine that passes requests on to the API server, as the user of the client configuration. */
import { request as httpRequest } from 'node:http';
import { type FastifyHttpProxyOptions, fastifyHttpProxy } from '@fastify/http-proxy';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { Agent } from 'undici';
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { statusOf } from '#apimachinery/errors/status.js';
import type { WebSocketTarget } from '#cmd/orchctl/api/api.js';
import type { FilteredRequest } from '#cmd/orchctl/proxy/filter.js';
import { schemaless } from '#daemon/serving/daemon-app.js';
import { plain } from '#daemon/serving/plain-http.js';
import { AppUpgrades, answerUpgrade, type UpgradeRequest } from '#daemon/streaming/app-upgrades.js';
import { endToEndHeaders, forwardingOptions, unchangedReplies } from '#daemon/streaming/forwarding.js';
import { askUpgrade } from '#daemon/streaming/tunnel.js';

export interface ApiProxyOptions {
  readonly clock: Clock;
  /** How the API server is reached at the moment, and with which headers. */
  readonly target: () => Promise<WebSocketTarget>;
  /** Under which the API is found; begins and ends with a slash. */
  readonly apiPrefix: string;
  /** Ask below the path of the configuration's server. */
  readonly appendServerPath: boolean;
  /** Absent: everything is passed on. */
  readonly accepts?: ((request: FilteredRequest) => boolean) | undefined;
}

/** Time for the API server to answer a request for another protocol. */
const answerMs = 60_000;

export async function apiProxy(options: ApiProxyOptions): Promise<FastifyInstance> {
  const { accepts, apiPrefix, appendServerPath, clock, target } = options;
  const { host, pathname } = new URL((await target()).url);
  const base = appendServerPath ? pathname.replace(/\/$/, '') : '';
  const app: FastifyInstance = fastify({ forceCloseConnections: true, schemaController: schemaless });
  app.setNotFoundHandler((_request, reply) => plain(reply, 404, '404 page not found\n'));
  app.setErrorHandler((error, _request, reply) => plain(reply, statusCodeOf(error), `${messageOf(error)}\n`));
  const upgrades = new AppUpgrades({ isForwarding: true });
  upgrades.addTo(app);
  const agent = new Agent({
    // Watches are silent as long as nothing happens.
    ...{ headersTimeout: 0, bodyTimeout: 0 },
    connect: (_, done) => {
      const dialed = target().then((current) => current.dial());
      dialed.then(
        (socket) => done(null, socket),
        (error: Error) => done(error, null),
      );
    },
  });
  app.addHook('onClose', () => agent.destroy());

  const headersFor = (request: FastifyRequest, own: WebSocketTarget['headers']) => {
    const { host: _, ...received } = endToEndHeaders(request.headers);
    const before = received['x-forwarded-for'];
    const lower = Object.entries(own).map(([name, value]) => [name.toLowerCase(), value]);
    const forwarded = before === undefined ? request.ip : `${before}, ${request.ip}`;
    // What the client says of itself goes before what the configuration says.
    return { ...Object.fromEntries(lower), ...received, host, 'x-forwarded-for': forwarded };
  };

  const pass = async (request: FastifyRequest, reply: FastifyReply, place: string, passing: object) => {
    const { method } = request;
    if (accepts?.({ method, path: decodeURIComponent(place), host: request.headers.host ?? '' }) === false)
      return plain(reply, 403, 'Forbidden\n');
    const current = await target();
    const headers = headersFor(request, current.headers);
    const upgrade = upgrades.of(request);
    if (upgrade === undefined) return reply.from(base + place, { ...passing, rewriteRequestHeaders: () => headers });
    const mark = request.url.indexOf('?');
    const path = base + place + (mark < 0 ? '' : request.url.slice(mark));
    return answerUpgrade(reply, upgrade, await ask(current, upgrade, { method, path, headers }), { clock });
  };

  const proxying: FastifyHttpProxyOptions & { readonly websocket: false } = {
    upstream: `http://${host}`,
    // The API's own paths keep their beginning, as in 1.24.
    rewritePrefix: apiPrefix.startsWith('/api') ? apiPrefix : '/',
    ...(apiPrefix === '/' ? {} : { prefix: apiPrefix.slice(0, -1) }),
    ...forwardingOptions,
    // TLS, where there is any, is the dialer's.
    undici: agent,
    handler: pass,
    replyOptions: {
      ...unchangedReplies,
      onError: (reply, { error }) => plain(reply as FastifyReply, 500, `${messageOf(error.cause ?? error)}\n`),
    },
  };
  await app.register(fastifyHttpProxy, proxying);
  return app;
}

async function ask(
  target: WebSocketTarget,
  { protocol }: UpgradeRequest,
  request: { readonly method: string; readonly path: string; readonly headers: Record<string, string | string[]> },
) {
  const socket = await target.dial();
  const headers = { ...request.headers, connection: 'Upgrade', upgrade: protocol };
  return askUpgrade(httpRequest({ ...request, headers, setHost: false, createConnection: () => socket }), answerMs);
}

function statusCodeOf(error: unknown): number {
  return statusOf(error)?.code ?? (error as { readonly statusCode?: number }).statusCode ?? 500;
}
