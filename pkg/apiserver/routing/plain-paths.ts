/** Paths without resources: version, discovery, OpenAPI, health and metrics. */
import type { Registry } from 'prom-client';
import { pathNotFound } from '#apimachinery/errors/status.js';
import { Discovery, type DiscoveryOptions, requireReading } from '#apiserver/discovery/discovery.js';
import { Health, type HealthCheck } from '#apiserver/discovery/health.js';
import { groupsOf } from '#apiserver/discovery/resource-list.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import type { RequestContext } from '#apiserver/http/request-context.js';
import { OpenApi, type OpenApiOptions } from '#apiserver/openapi/openapi.js';
import type { Endpoint } from '#apiserver/pipeline/pipeline.js';
import type { Logger } from '#daemon/log/logger.js';
import { versionInfo } from '#daemon/version.js';

export interface PlainPathsOptions extends DiscoveryOptions, OpenApiOptions {
  readonly metrics: Registry;
  readonly log: Logger;
  readonly healthChecks: readonly HealthCheck[];
  /** Additional handlers, by their exact path; `/logs/*` means every path below `/logs`. */
  readonly paths: Readonly<Record<string, (context: RequestContext) => Promise<ApiResponse>>>;
}

/** The form of documents that have no other. */
const jsonForm = { format: 'json', pretty: true } as const;

/** Paths that do not depend on the served resources. */
const fixedPaths = [
  '/api',
  '/api/v1',
  '/apis',
  '/apis/',
  '/healthz',
  '/livez',
  '/metrics',
  '/openapi/v2',
  '/openapi/v3',
  '/openapi/v3/',
  '/readyz',
  '/version',
];

/** Throws 404 for unknown paths. */
export function plainPaths(options: PlainPathsOptions): Endpoint {
  const { dialect, responder, metrics, paths } = options;
  const discovery = new Discovery(options);
  const openapi = new OpenApi(options);
  const health = new Health([...options.healthChecks], options.log);
  return (context) => {
    const { path } = context.info;
    const end = path.indexOf('/', 1);
    const own = paths[path] ?? (end < 0 ? undefined : paths[`${path.slice(0, end)}/*`]);
    if (own !== undefined) return own(context);
    if (path === '/version' || path === '/version/') {
      requireReading(context);
      return responder.object(context, versionInfo(dialect), 200, jsonForm);
    }
    if (path === '/metrics') return metricsResponse(metrics);
    if (path === '/') return responder.object(context, { paths: allPaths(options) }, 200, jsonForm);
    const answer = discovery.serve(context) ?? health.serve(context) ?? openapi.serve(context);
    if (answer === undefined) throw pathNotFound();
    return answer;
  };
}

/** Like in 1.24, debugging paths are not listed. */
const unlisted = /^\/(?:configz$|debug\/)|\*$/;

/** All paths, for the index at `/`. */
function allPaths({ resources, remote, paths, healthChecks, gate }: PlainPathsOptions): string[] {
  const groups = groupsOf(resources, remote()).filter(({ name }) => name !== '');
  const versions = groups.flatMap(({ name, versions: served }) => [
    name,
    ...served.map((version) => `${name}/${version}`),
  ]);
  // Additional handlers may replace fixed paths.
  const checks = healthChecks.flatMap(({ name, endpoints }) => endpoints.map((endpoint) => `/${endpoint}/${name}`));
  const own = Object.keys(paths).filter((path) => !unlisted.test(path));
  const fixed = gate('OpenAPIV3') ? fixedPaths : fixedPaths.filter((path) => !path.startsWith('/openapi/v3'));
  return [...new Set([...fixed, ...versions.map((name) => `/apis/${name}`), ...checks, ...own])].sort();
}

async function metricsResponse(registry: Registry): Promise<ApiResponse> {
  const body = Buffer.from(await registry.metrics());
  return { status: 200, headers: { 'content-type': registry.contentType }, body };
}
