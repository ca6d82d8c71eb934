/** Metrics of the agent's server, named as in release 1.24 with the agent's name in front. */
import type { Registry } from 'prom-client';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { gauge } from '#daemon/metrics/metric.js';
import { PlainCounter, PlainHistogram } from '#daemon/metrics/plain-series.js';

const labelNames = ['method', 'path', 'server_type', 'long_running'];
const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const methods: ReadonlySet<string> = new Set(['OPTIONS', 'GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'TRACE', 'CONNECT']);
/** Paths with their own label value; other paths share one, so that clients cannot create series. */
const paths: ReadonlySet<string> = new Set([
  'attach',
  'configz',
  'containerLogs',
  'debug',
  'exec',
  'healthz',
  'livez',
  'logs',
  'metrics',
  'metrics/cadvisor',
  'metrics/probes',
  'metrics/resource',
  'metrics/state',
  'pods',
  'portForward',
  'readyz',
  'run',
  'runningpods',
  'stats',
]);
const longRunning: ReadonlySet<string> = new Set(['attach', 'debug', 'exec', 'portForward']);

export interface AgentHttpMetricsOptions {
  readonly registry: Registry;
  readonly dialect: Dialect;
  readonly clock: Clock;
}

/** Counts a request; call the result at its end. */
export type RequestCounter = (method: string, url: string) => () => void;

/** Metrics of both servers of the agent. */
export function agentHttpMetrics(
  options: AgentHttpMetricsOptions,
): (server: 'readwrite' | 'readonly') => RequestCounter {
  const { registry, dialect, clock } = options;
  const prefix = `${dialect.components.nodeAgent}_http`;
  const requests = new PlainCounter(registry, {
    name: `${prefix}_requests_total`,
    help: '[ALPHA] Number of the http requests received since the server started',
    labelNames,
  });
  const seconds = new PlainHistogram(registry, {
    name: `${prefix}_requests_duration_seconds`,
    help: '[ALPHA] Duration in seconds to serve http requests',
    labelNames,
    buckets,
  });
  const inFlight = gauge(registry, {
    name: `${prefix}_inflight_requests`,
    help: '[ALPHA] Number of the inflight http requests',
    labelNames,
  });
  return (server) => (requestMethod, url) => {
    const method = methods.has(requestMethod) ? requestMethod : 'other';
    const path = pathLabel(url);
    const values = [method, path, server, String(longRunning.has(path))] as const;
    const startedMs = clock.monotonic();
    requests.labels(...values).inc();
    inFlight.labels(...values).inc();
    return () => {
      inFlight.labels(...values).dec();
      seconds.labels(...values).observe((clock.monotonic() - startedMs) / 1000);
    };
  };
}

/** The first segment; below `metrics` the first two. */
function pathLabel(url: string): string {
  const [first = '', second] = (url.split('?', 1)[0] ?? '').replace(/^\//, '').split('/', 3);
  const path = first === 'metrics' && second !== undefined ? `${first}/${second}` : first;
  return paths.has(path) ? path : 'other';
}
