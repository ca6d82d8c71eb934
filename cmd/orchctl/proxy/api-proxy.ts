/** A local server that forwards requests to the API server with the credentials of the client configuration. */

import { request as httpRequest } from 'node:http';
import { type FastifyHttpProxyOptions, fastifyHttpProxy } from '@fastify/http-proxy';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { Agent } from 'undici';
import type { Clock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { statusOf } from '#apimachinery/errors/status.js';
import { type Pattern, Patterns } from '#apimachinery/patterns/pattern.js';
import type { WebSocketTarget } from '#cmd/orchctl/api/api.js';
import { schemaless } from '#daemon/serving/daemon-app.js';
import { plain } from '#daemon/serving/plain-http.js';
import { AppUpgrades, answerUpgrade, type UpgradeRequest } from '#daemon/streaming/app-upgrades.js';
import { endToEndHeaders, forwardingOptions, unchangedReplies } from '#daemon/streaming/forwarding.js';
import { askUpgrade } from '#daemon/streaming/tunnel.js';

export const filterDefaults = {
  acceptPaths: '^.*',
  rejectPaths: '^/api/.*/pods/.*/exec,^/api/.*/pods/.*/attach',
  acceptHosts: String.raw`^localhost$,^127\.0\.0\.1$,^\[::1\]$`,
  rejectMethods: '^$',
};

/** Comma-separated regular expressions like `filterDefaults`; an empty list matches nothing. */
export type FilterRules = Readonly<Record<keyof typeof filterDefaults, string>>;

export interface FilteredRequest {
  readonly method: string;
  /** Decoded, as the API server receives it. */
  readonly path: string;
  /** The Host header, with or without a port. */
  readonly host: string;
}

/** Selects the requests to forward, by the rules of kubectl 1.24 (`pkg/proxy`). Throws an Error for an invalid pattern. */
export function requestFilter(rules: FilterRules): (request: FilteredRequest) => boolean {
  const patterns = new Patterns();
  const compiled = (text: string): readonly Pattern[] =>
    text === '' ? [] : text.split(',').map((each) => patterns.compile(each));
  const [acceptPaths, rejectPaths] = [compiled(rules.acceptPaths), compiled(rules.rejectPaths)];
  const [acceptHosts, rejectMethods] = [compiled(rules.acceptHosts), compiled(rules.rejectMethods)];
  const matches = (text: string, any: readonly Pattern[]) => any.some((pattern) => pattern.test(text));
  return ({ method, path, host }) =>
    !matches(path, rejectPaths) &&
    !matches(method, rejectMethods) &&
    matches(path, acceptPaths) &&
    matches(host.replace(/:\d*$/, ''), acceptHosts);
}

export interface ApiProxyOptions {
  readonly clock: Clock;
  /** Current address and headers of the API server. */
  readonly target: () => Promise<WebSocketTarget>;
  /** Path prefix of the API; begins and ends with a slash. */
  readonly apiPrefix: string;
  /** Append request paths to the path of the configured server. */
  readonly appendServerPath: boolean;
  /** Absent: every request is forwarded. */
  readonly accepts?: ((request: FilteredRequest) => boolean) | undefined;
  /** Sees each request first, and answers those that it refuses. */
  readonly guard?: (request: FastifyRequest, reply: FastifyReply, upgrades: AppUpgrades) => Promise<unknown>;
  /** Headers of clients that are not forwarded, in lower case. */
  readonly withheld?: readonly string[];
  /** Added to forwarded responses. */
  readonly answerHeaders?: Readonly<Record<string, string>>;
  /** Adds routes of its own, which come before the forwarded paths. */
  readonly addRoutes?: (app: FastifyInstance, upgrades: AppUpgrades) => void;
}

/** Time limit for the API server's answer to a protocol upgrade. */
const answerMs = 60_000;

export async function apiProxy(options: ApiProxyOptions): Promise<FastifyInstance> {
  const { accepts, apiPrefix, appendServerPath, clock, target, guard, withheld = [], answerHeaders = {} } = options;
  const { host, pathname } = new URL((await target()).url);
  const base = appendServerPath ? pathname.replace(/\/$/, '') : '';
  const app: FastifyInstance = fastify({ forceCloseConnections: true, schemaController: schemaless });
  app.setNotFoundHandler((_request, reply) => plain(reply, 404, '404 page not found\n'));
  app.setErrorHandler((error, _request, reply) => plain(reply, statusCodeOf(error), `${messageOf(error)}\n`));
  const upgrades = new AppUpgrades({ isForwarding: true });
  upgrades.addTo(app);
  if (guard !== undefined) app.addHook('onRequest', (request, reply) => guard(request, reply, upgrades));
  options.addRoutes?.(app, upgrades);
  const agent = new Agent({
    // Watches are silent while nothing happens.
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

  const headersFor = (request: FastifyRequest, targetHeaders: WebSocketTarget['headers']) => {
    const { host: _, ...received } = endToEndHeaders(request.headers);
    for (const name of withheld) delete received[name];
    const before = received['x-forwarded-for'];
    const lower = Object.entries(targetHeaders).map(([name, value]) => [name.toLowerCase(), value]);
    const forwarded = before === undefined ? request.ip : `${before}, ${request.ip}`;
    // The client's headers override the configured ones.
    return { ...Object.fromEntries(lower), ...received, host, 'x-forwarded-for': forwarded };
  };

  const pass = async (request: FastifyRequest, reply: FastifyReply, place: string, passing: object) => {
    const { method } = request;
    if (accepts?.({ method, path: decodeURIComponent(place), host: request.headers.host ?? '' }) === false)
      return plain(reply, 403, 'Forbidden\n');
    reply.headers(answerHeaders);
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
    // The API's own paths keep their prefix, as in 1.24.
    rewritePrefix: apiPrefix.startsWith('/api') ? apiPrefix : '/',
    ...(apiPrefix === '/' ? {} : { prefix: apiPrefix.slice(0, -1) }),
    ...forwardingOptions,
    // The dialer adds TLS if needed.
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
