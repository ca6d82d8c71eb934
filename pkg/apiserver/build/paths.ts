/** Plain paths that options turn on: the token issuer's discovery, `/metrics`, `/configz`, `/debug/…` and `/logs/`. */
import type { Registry } from 'prom-client';
import type { AuthenticationParts } from '#apiserver/build/authentication.js';
import { externalAddress } from '#apiserver/build/endpoints.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import type { RequestContext } from '#apiserver/http/request-context.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import { configurationPath, issuerDiscovery, jwksPath } from '#apiserver/serviceaccount/discovery.js';
import type { DebugEndpoints } from '#daemon/debugging/debug-endpoints.js';
import { metricsText, metricsView } from '#daemon/metrics/registry.js';
import { parseRequestTarget } from '#daemon/serving/request-target.js';
import { systemLogDir, systemLogs } from '#daemon/serving/system-logs.js';
import { IterableBody } from '#http/server/body.js';
import { plainText } from '#http/server/exchange.js';

type Handler = (context: RequestContext) => Promise<ApiResponse>;

interface PathSetup {
  readonly authentication: Pick<AuthenticationParts, 'issuerName' | 'keys'>;
  /** The registry that `/metrics` shows. */
  readonly metrics: () => Promise<Registry>;
  readonly debug: DebugEndpoints | undefined;
}

export function buildPaths(values: ApiServerValues, setup: PathSetup): Record<string, Handler> {
  return { ...discoveryPaths(values, setup.authentication), ...debugPaths(values, setup) };
}

/** Where the keys of tokens are said to be: by its own option, or at the server's external host name. Empty: below the issuer. */
function jwksURIOf(values: ApiServerValues): string {
  const own = values['service-account-jwks-uri'] ?? '';
  const host = values['external-hostname'] ?? '';
  if (own !== '' || host === '') return own;
  const listening = { address: '', family: 'IPv4', port: values['secure-port'] };
  return `https://${externalAddress(host, listening)}${jwksPath}`;
}

/** Empty when the issuer cannot be discovered. */
function discoveryPaths(
  values: ApiServerValues,
  { issuerName, keys }: PathSetup['authentication'],
): Record<string, Handler> {
  const jwksUri = jwksURIOf(values);
  const documents = issuerDiscovery({ issuer: issuerName, keys, ...(jwksUri === '' ? {} : { jwksUri }) });
  if (documents === undefined) return {};
  const document = (contentType: string, body: Buffer) => () =>
    Promise.resolve({
      status: 200,
      headers: { 'content-type': contentType, 'cache-control': 'public, max-age=3600' },
      body,
    });
  return {
    [configurationPath]: document('application/json', documents.configuration),
    [jwksPath]: document('application/jwk-set+json', documents.jwks),
  };
}

function debugPaths(values: ApiServerValues, { metrics, debug }: PathSetup): Record<string, Handler> {
  const view = metricsView(values);
  const paths: Record<string, Handler> = {
    '/metrics': async () => {
      const registry = await metrics();
      const body = Buffer.from(await metricsText(registry, view));
      return { status: 200, headers: { 'content-type': registry.contentType }, body };
    },
  };
  for (const path of debug?.paths ?? []) {
    const handler: Handler = async ({ request, info, signal }) => {
      const response = await debug?.respond({
        method: request.method,
        path,
        query: info.query,
        accept: String(request.headers['accept'] ?? ''),
        body: () => Promise.resolve(request.body.toString('utf8')),
        signal,
      });
      if (response === undefined) throw new TypeError(`no endpoint at ${path}`);
      const { status, headers, body } = response;
      return { status, headers: { ...headers }, body: Buffer.isBuffer(body) ? body : new IterableBody(body) };
    };
    paths[path] = handler;
    if (path === '/debug/pprof') paths[`${path}/`] = handler;
  }
  if (values['enable-logs-handler']) for (const path of ['/logs', '/logs/*']) paths[path] = logs;
  return paths;
}

const logs: Handler = async ({ request }) => {
  const { method, url } = request;
  if (method !== 'GET') return plainText(405, '405: Method Not Allowed');
  const options = { dir: systemLogDir, linkedDirs: [] };
  const { status, headers, body } = await systemLogs(parseRequestTarget(method, url), options);
  return {
    status,
    headers: { ...headers },
    body: typeof body === 'string' ? Buffer.from(body) : new IterableBody(body),
  };
};
