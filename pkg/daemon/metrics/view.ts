/** How the options of metrics want them seen. */
import { labelAllowList } from '#daemon/metrics/label-allow-list.js';
import type { MetricsView } from '#daemon/metrics/registry.js';
import type { MetricsValues } from '#daemon/options/groups/metrics.js';

export function metricsView(values: Partial<MetricsValues>): MetricsView {
  return {
    disabled: new Set(values['disabled-metrics'] ?? []),
    labels: labelAllowList(values['allow-metric-labels'] ?? {}),
    showHidden: (values['show-hidden-metrics-for-version'] ?? '') !== '',
  };
}
