/** A daemon's metrics: one registry per daemon, so that several live in one process. */
import { Registry } from 'prom-client';
import type { Dialect } from '#apimachinery/dialect.js';
import { gauge } from '#daemon/metrics/metric.js';
import { type ProcessFacts, registerProcessMetrics } from '#daemon/metrics/process-metrics.js';
import { versionInfo } from '#daemon/version.js';

export interface CreateRegistryOptions {
  readonly dialect: Dialect;
  /** Absent: no series about the process; for daemons that share it with others. */
  readonly process?: ProcessFacts;
}

/** A registry with the build info and, if asked for, the process's and the runtime's series. */
export function createRegistry(options: CreateRegistryOptions): Registry {
  const registry = new Registry();
  const { major, minor, gitVersion } = versionInfo(options.dialect);
  const labels = { major, minor, git_version: gitVersion };
  gauge(registry, {
    name: `${options.dialect.product}_build_info`,
    help: 'Always 1; the labels tell version and build',
    labelNames: ['major', 'minor', 'git_version'],
  }).set(labels, 1);
  if (options.process !== undefined) registerProcessMetrics(registry, options.process);
  return registry;
}

/** The registry's text without the metrics that were disabled. */
export async function metricsText(registry: Registry, disabled: ReadonlySet<string> = new Set()): Promise<string> {
  if (disabled.size === 0) return registry.metrics();
  const names = registry.getMetricsAsArray().map((metric) => metric.name);
  const shown = names.filter((name) => !disabled.has(name));
  const texts = await Promise.all(shown.map((name) => registry.getSingleMetricAsString(name)));
  return `${texts.join('\n\n')}\n`;
}
