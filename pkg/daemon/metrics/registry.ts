/** A daemon's metrics: one registry per daemon, so that several can share a process. */

import { Registry } from 'prom-client';
import type { Dialect } from '#apimachinery/dialect.js';
import { gauge } from '#daemon/metrics/metric.js';
import { type ProcessFacts, registerProcessMetrics } from '#daemon/metrics/process-metrics.js';
import type { MetricsValues } from '#daemon/options/groups/metrics.js';
import { versionInfo } from '#daemon/version.js';

export interface CreateRegistryOptions {
  readonly dialect: Dialect;
  /** Absent for daemons that share a process: no process metrics. */
  readonly process?: ProcessFacts;
}

/** A registry with build info and, if requested, process and runtime metrics. */
export function createRegistry(options: CreateRegistryOptions): Registry {
  const registry = new Registry();
  const version = versionInfo(options.dialect);
  const labels = {
    build_date: version.buildDate,
    compiler: version.compiler,
    git_commit: version.gitCommit,
    git_tree_state: version.gitTreeState,
    git_version: version.gitVersion,
    go_version: version.goVersion,
    major: version.major,
    minor: version.minor,
    platform: version.platform,
  };
  gauge(registry, {
    name: `${options.dialect.product}_build_info`,
    help: `[ALPHA] A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree state, build date, Go version, and compiler from which ${options.dialect.displayName} was built, and platform on which it is running.`,
    labelNames: Object.keys(labels),
  }).set(labels, 1);
  if (options.process !== undefined) registerProcessMetrics(registry, options.process);
  return registry;
}

export interface MetricsView {
  /** Names of omitted metrics. */
  readonly disabled?: ReadonlySet<string>;
  readonly labels?: LabelAllowList;
  /** Also shows metrics that the previous minor version still had and this one hides. */
  readonly showHidden?: boolean;
}

/** Deprecated in 1.23, so hidden in 1.24 by default and gone in the next release. */
const hiddenMetrics: ReadonlySet<string> = new Set(['scheduler_e2e_scheduling_duration_seconds']);

/** Prometheus text of the registry, filtered by the view. */
export async function metricsText(registry: Registry, view: MetricsView = {}): Promise<string> {
  const { disabled = new Set(), labels = new Map(), showHidden = false } = view;
  const metrics = registry.getMetricsAsArray() as unknown as readonly {
    readonly name: string;
    get?(): Promise<unknown>;
  }[];
  const texts = metrics
    // Disabled metrics stay hidden even if hidden ones are shown.
    .filter(({ name }) => !disabled.has(name) && (showHidden || !hiddenMetrics.has(name)))
    .map(async (metric) => {
      const allowed = labels.get(metric.name);
      if (allowed === undefined || metric.get === undefined) return registry.getSingleMetricAsString(metric.name);
      const data = constrain((await metric.get()) as MetricData, allowed);
      return metricText(data);
    });
  return `${(await Promise.all(texts)).join('\n\n')}\n`;
}

function metricText({ name, help, type, values }: MetricData): string {
  const lines = [`# HELP ${name} ${escapeText(help)}`, `# TYPE ${name} ${String(type)}`];
  for (const { metricName = name, labels, value } of values) {
    const pairs = Object.entries(labels).filter(([, text]) => text !== undefined);
    const text = pairs.map(([label, content]) => `${label}="${escapeText(String(content)).replaceAll('"', '\\"')}"`);
    const shown = value === Number.POSITIVE_INFINITY ? '+Inf' : value === Number.NEGATIVE_INFINITY ? '-Inf' : value;
    lines.push(`${metricName}${text.length === 0 ? '' : `{${text.join(',')}}`} ${shown}`);
  }
  return lines.join('\n');
}

function escapeText(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

/** Builds a view from the metrics options. */
export function metricsView(values: Partial<MetricsValues>): MetricsView {
  return {
    disabled: new Set(values['disabled-metrics'] ?? []),
    labels: labelAllowList(values['allow-metric-labels'] ?? {}),
    showHidden: (values['show-hidden-metrics-for-version'] ?? '') !== '',
  };
}

/** The part of prom-client's `get()` result that is used here. */
export interface MetricData {
  readonly name: string;
  readonly help: string;
  readonly type: unknown;
  readonly values: readonly MetricValue[];
}

export interface MetricValue {
  readonly value: number;
  readonly labels: Readonly<Record<string, string | number | undefined>>;
  readonly metricName?: string;
}

/** Metric name → label → allowed values. */
export type LabelAllowList = ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>>;

/** Parses `MetricName,LabelName` → `value,value`. The option rules refuse malformed names. */
export function labelAllowList(option: Readonly<Record<string, string>>): LabelAllowList {
  const result = new Map<string, Map<string, ReadonlySet<string>>>();
  for (const [key, values] of Object.entries(option)) {
    const [metric = '', label = ''] = key.split(',');
    const labels = result.get(metric) ?? new Map<string, ReadonlySet<string>>();
    labels.set(label, new Set(values.split(',')));
    result.set(metric, labels);
  }
  return result;
}

/** Replaces values outside the list by `unexpected`, as in release 1.24, and merges series that become equal. */
function constrain(data: MetricData, allowed: ReadonlyMap<string, ReadonlySet<string>>): MetricData {
  const merged = new Map<string, MetricValue>();
  for (const item of data.values) {
    const labels: Record<string, string | number | undefined> = { ...item.labels };
    for (const [label, values] of allowed) {
      const value = labels[label];
      if (value !== undefined && !values.has(String(value))) labels[label] = 'unexpected';
    }
    const key = JSON.stringify([item.metricName, Object.entries(labels).sort()]);
    const before = merged.get(key);
    merged.set(key, { ...item, labels, value: item.value + (before?.value ?? 0) });
  }
  return { ...data, values: [...merged.values()] };
}
