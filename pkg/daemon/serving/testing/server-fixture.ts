/** A daemon's server for tests, with fake reviews, a clock and requests. */
import { once } from 'node:events';
import { type Agent, request as httpsRequest } from 'node:https';
import type { Test } from 'tap';
import type { TokenReview } from '#api/authentication/v1/types.gen.js';
import type { SubjectAccessReview } from '#api/authorization/v1/types.gen.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { serviceUnavailable } from '#apimachinery/errors/status.js';
import { silentLogger } from '#daemon/log/logger.js';
import { createRegistry } from '#daemon/metrics/registry.js';
import { delegatedAuthOptions } from '#daemon/options/groups/authentication.js';
import { servingOptions } from '#daemon/options/groups/serving.js';
import { parseOptions } from '#daemon/options/parse.js';
import { type CreateDaemonServerOptions, createDaemonServer } from '#daemon/serving/create-daemon-server.js';
import { HealthChecks } from '#daemon/serving/health.js';
import type { ReviewClient } from '#daemon/serving/user.js';
import type { KeyCertificate } from '#pki/certificate.js';

const table = { ...servingOptions({ securePort: 10_259 }), ...delegatedAuthOptions({ tolerateLookupFailure: false }) };

export function valuesOf(...argv: string[]) {
  const result = parseOptions(table, argv, { program: 'tester' });
  if (result.kind !== 'run') throw new Error(result.kind);
  return result.values;
}

/** An API server that accepts the token `good` and lets `readers` read metrics. */
export class FakeReviews implements ReviewClient {
  readonly requests: string[] = [];
  readonly readers = new Set(['token-user', 'cert-user', 'spoken-for']);
  down = false;
  published: Record<string, string> = {};

  request<R>(method: string, path: string, body?: unknown): Promise<R> {
    this.requests.push(`${method} ${path}`);
    if (this.down) return Promise.reject(serviceUnavailable('down'));
    return Promise.resolve(this.#answer(path, body) as R);
  }

  count(part: string): number {
    return this.requests.filter((line) => line.includes(part)).length;
  }

  #answer(path: string, body: unknown): unknown {
    if (path.includes('configmaps')) return { metadata: {}, data: this.published };
    if (path.includes('tokenreviews')) {
      const good = (body as TokenReview).spec.token === 'good';
      return {
        status: good
          ? { authenticated: true, user: { username: 'token-user', groups: ['g'] } }
          : { authenticated: false },
      };
    }
    const { user, groups, nonResourceAttributes } = (body as SubjectAccessReview).spec;
    const isReader =
      this.readers.has(user ?? '') &&
      groups?.includes(user === 'system:anonymous' ? 'system:unauthenticated' : 'system:authenticated');
    return { status: { allowed: isReader === true && nonResourceAttributes?.path === '/metrics', reason: 'because' } };
  }
}

/** Listens on a free port until the test ends. */
export async function startServer(
  t: Test,
  argv: readonly string[],
  options: Pick<CreateDaemonServerOptions, 'clock'> & Partial<CreateDaemonServerOptions>,
) {
  const reviews = new FakeReviews();
  const server = await createDaemonServer({
    name: 'tester',
    values: valuesOf('--bind-address=127.0.0.1', ...argv),
    port: 0,
    dialect: orchDialect,
    log: silentLogger,
    health: new HealthChecks(),
    metrics: createRegistry({ dialect: orchDialect }),
    authenticationClient: reviews,
    authorizationClient: reviews,
    routes: (app) => {
      app.get('/broken', () => Promise.reject(new Error('oops')));
    },
    ...options,
  });
  if (server === undefined) throw new Error('no server');
  const { port } = await server.start();
  t.teardown(() => server.close());
  return { reviews, server, port };
}

export interface Answer {
  status: number;
  body: string;
}

export async function get(
  port: number,
  path: string,
  options: { headers?: Record<string, string>; identity?: KeyCertificate; agent?: Agent } = {},
): Promise<Answer> {
  const { headers = {}, identity, agent = false } = options;
  const request = httpsRequest({
    host: '127.0.0.1',
    port,
    path,
    headers,
    agent,
    rejectUnauthorized: false,
    cert: identity?.certificate,
    key: identity?.privateKey,
  });
  request.end();
  const [response] = await once(request, 'response');
  let body = '';
  for await (const chunk of response) body += chunk;
  return { status: response.statusCode, body };
}
