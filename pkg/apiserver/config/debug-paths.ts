/** What the API server tells about itself: its metrics as the options want them seen, `/configz`, `/debug/…` and `/logs/`. */
import type { Registry } from 'prom-client';
import type { RequestContext } from '#apiserver/http/context.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import type { DebugEndpoints } from '#daemon/debugging/debug-endpoints.js';
import { metricsText, metricsView } from '#daemon/metrics/registry.js';
import { parseRequestTarget } from '#daemon/serving/request-target.js';
import { systemLogDir, systemLogs } from '#daemon/serving/system-logs.js';
import { IterableBody } from '#http/server/body.js';
import { plainText } from '#http/server/exchange.js';

type Answer = (context: RequestContext) => Promise<ApiResponse>;

export function debugPaths(
  values: ApiServerValues,
  metrics: () => Promise<Registry>,
  debug: DebugEndpoints | undefined,
): Record<string, Answer> {
  const view = metricsView(values);
  const paths: Record<string, Answer> = {
    '/metrics': async () => {
      const registry = await metrics();
      const body = Buffer.from(await metricsText(registry, view));
      return { status: 200, headers: { 'content-type': registry.contentType }, body };
    },
  };
  for (const path of debug?.paths ?? []) {
    const answer: Answer = async ({ request, info, signal }) => {
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
    paths[path] = answer;
    if (path === '/debug/pprof') paths[`${path}/`] = answer;
  }
  if (values['enable-logs-handler']) for (const path of ['/logs', '/logs/*']) paths[path] = logs;
  return paths;
}

const logs: Answer = async ({ request }) => {
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
