/** Keeps the values of labels within a list, so that a metric has no more series than somebody wants to pay for. */

/** What a metric's `get()` of prom-client resolves with, as far as it matters here. */
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

/** Label → allowed values, by the metric's name. */
export type LabelAllowList = ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>>;

/** From `MetricName,LabelName` → `value,value`. Malformed names are the option rules' to refuse. */
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

/** What is not in the list becomes `unexpected`, as in release 1.24; series that become the same are added up. */
export function constrain(data: MetricData, allowed: ReadonlyMap<string, ReadonlySet<string>>): MetricData {
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
