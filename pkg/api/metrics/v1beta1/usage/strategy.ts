/** The strategies of resource metrics, which are computed. */
import { nodes, pods } from '#api/metrics/v1beta1/resources.gen.js';
import type { NodeMetrics, PodMetrics } from '#api/metrics/v1beta1/types.gen.js';
import { kindStrategy } from '#api/strategy/kind-strategy.js';
import type { Strategy } from '#api/strategy/strategy.js';
import { addQuantities } from '#apimachinery/quantity.js';

type Usage = NodeMetrics['usage'];

const shown = ['cpu', 'memory'] as const;

const figures = (usages: readonly (Usage | undefined)[]) =>
  shown.map((resource) => usages.map((usage) => usage?.[resource] ?? '0').reduce(addQuantities, '0'));

export const nodeMetricsStrategy: Strategy<NodeMetrics> = kindStrategy<NodeMetrics>(nodes, {
  computed: true,
  cells: ({ metadata, usage, window }) => [metadata.name ?? '', ...figures([usage]), window ?? ''],
});

export const podMetricsStrategy: Strategy<PodMetrics> = kindStrategy<PodMetrics>(pods, {
  computed: true,
  cells: ({ metadata, containers, window }) => [
    metadata.name ?? '',
    ...figures((containers ?? []).map(({ usage }) => usage)),
    window ?? '',
  ],
});
