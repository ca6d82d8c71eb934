/** The loopback server of `orchctl ui`: the dashboard's files, and the API with the credentials of the client configuration. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '#apimachinery/clock.js';
import type { Api } from '#cmd/orchctl/api/api.js';
import { apiProxy } from '#cmd/orchctl/proxy/api-proxy.js';
import { addForwards, Forwards } from '#cmd/orchctl/ui/forwards.js';
import { addStream } from '#cmd/orchctl/ui/stream.js';
import { plain } from '#daemon/serving/plain-http.js';
import type { AppUpgrades } from '#daemon/streaming/app-upgrades.js';
import { Assets } from '#dashboard/server/assets.js';
import { isSameSecret, refusal } from '#dashboard/server/guard.js';
import { apiAnswerHeaders, pageHeaders } from '#dashboard/server/page-headers.js';

export interface UiServerOptions {
  readonly api: Api;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** 0: any free port. */
  readonly port: number;
  /** Names the context of the client configuration. */
  readonly context: string;
  readonly namespace: string;
  /** Texts that cannot be guessed. */
  readonly secrets: { readonly link: string; readonly session: string };
}

export interface UiServer {
  readonly port: number;
  /** With the secret, for the user's browser only. */
  readonly link: string;
  close(): Promise<void>;
}

/** What a client must not pass on: the session is this server's, and the API server does not know its pages. */
const ownHeaders = ['cookie', 'origin', 'referer', 'x-orch-dashboard'];
const maxSecret = 200;

/** Rejects if the port is taken. */
export async function startUiServer(options: UiServerOptions): Promise<UiServer> {
  const { api, clock, signal, secrets } = options;
  const assets = new Assets();
  const forwards = new Forwards(api, signal);
  let hosts: readonly string[] = [];
  let cookie = '';
  const guard = async (request: FastifyRequest, reply: FastifyReply, upgrades: AppUpgrades) => {
    const path = request.url.split('?', 1)[0] ?? '';
    if (path === '/') return reply.redirect('/ui/');
    const isUpgrade = upgrades.of(request) !== undefined;
    const reason = refusal(
      { method: request.method, path, headers: request.headers, isUpgrade },
      { hosts, cookie, session: secrets.session },
    );
    if (reason !== undefined) return plain(reply, reason.startsWith('open') ? 401 : 403, `${reason}\n`);
    return undefined;
  };
  const target = () => api.webSocket('');
  const app = await apiProxy({
    ...{ clock, target, apiPrefix: '/', appendServerPath: true, guard },
    withheld: ownHeaders,
    answerHeaders: apiAnswerHeaders,
    addRoutes: (own, upgrades) => {
      addSession(own, options, () => cookie);
      addStream(own, upgrades, api);
      addForwards(own, forwards);
      for (const url of ['/ui', '/ui/*']) own.get(url, (request, reply) => sendAsset(assets, request, reply));
    },
  });
  await app.listen({ host: '127.0.0.1', port: options.port });
  const bound = app.server.address();
  if (typeof bound !== 'object' || bound === null) throw new Error('the listening port is unavailable');
  hosts = [`127.0.0.1:${bound.port}`, `localhost:${bound.port}`];
  // Cookies are those of all ports of a host.
  cookie = `orch-ui-${bound.port}`;
  return {
    port: bound.port,
    link: `http://127.0.0.1:${bound.port}/ui/#secret=${secrets.link}`,
    async close() {
      await forwards.close();
      await app.close();
    },
  };
}

/** The link's secret opens the session, whose cookie no script can read and no other site can send. */
function addSession(app: FastifyInstance, options: UiServerOptions, cookie: () => string): void {
  const { secrets, context, namespace } = options;
  const info = { mode: 'local', context, namespace, forwards: true };
  app.get('/ui/session', async (_request, reply) => reply.headers(pageHeaders).send(info));
  app.post('/ui/session', { bodyLimit: maxSecret }, async (request, reply) => {
    const { body } = request;
    if (typeof body !== 'string' || !isSameSecret(body, secrets.link))
      return plain(reply, 401, 'the link is not of this run\n');
    return reply
      .headers(pageHeaders)
      .header('set-cookie', `${cookie()}=${secrets.session}; Path=/; HttpOnly; SameSite=Strict`)
      .send(info);
  });
}

function sendAsset(assets: Assets, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const asset = assets.find(request.url.split('?', 1)[0] ?? '');
  if (asset === undefined) return plain(reply, 404, '404 page not found\n');
  reply.headers(pageHeaders).header('etag', asset.etag).header('vary', 'accept-encoding');
  if (request.headers['if-none-match'] === asset.etag) return reply.code(304).send();
  const isCompressed = String(request.headers['accept-encoding'] ?? '').includes('gzip');
  reply.type(asset.type);
  return isCompressed ? reply.header('content-encoding', 'gzip').send(asset.compressed) : reply.send(asset.body);
}
