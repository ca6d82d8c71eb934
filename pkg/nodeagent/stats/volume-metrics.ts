/** Usage metrics of claims, named as in release 1.24 with the agent's name in front. */
import type { Registry } from 'prom-client';
import { claimNameOf } from '#api/core/v1/pod/claims.js';
import type { Pod, Volume } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { gauge } from '#daemon/metrics/metric.js';
import { PlainHistogram } from '#daemon/metrics/plain-series.js';
import type { MeasuredWith, StorageMeter, VolumeUsage } from '#nodeagent/stats/storage-meter.js';

export interface VolumeMetricsOptions {
  readonly registry: Registry;
  readonly dialect: Dialect;
  readonly meter: Pick<StorageMeter, 'usage'>;
  readonly pods: () => readonly Pod[];
}

const rows: readonly (readonly [name: string, help: string, value: (usage: VolumeUsage) => number | undefined])[] = [
  ['capacity_bytes', 'Capacity in bytes of the volume', ({ filesystem }) => filesystem?.capacityBytes],
  ['available_bytes', 'Number of available bytes in the volume', ({ filesystem }) => filesystem?.availableBytes],
  ['used_bytes', 'Number of used bytes in the volume', ({ usedBytes }) => usedBytes],
  ['inodes', 'Maximum number of inodes in the volume', ({ filesystem }) => filesystem?.inodes],
  ['inodes_free', 'Number of free inodes in the volume', ({ filesystem }) => filesystem?.inodesFree],
  ['inodes_used', 'Number of used inodes in the volume', ({ inodesUsed }) => inodesUsed],
  [
    'health_status_abnormal',
    'Abnormal volume health status. The count is either 1 or 0. 1 indicates the volume is unhealthy, 0 indicates volume is healthy',
    ({ health }) => health && Number(health.abnormal),
  ],
];

const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Registers the histogram of measurement durations; the result records one. */
export function volumeTimes(registry: Registry, dialect: Dialect): (source: MeasuredWith, ms: number) => void {
  const seconds = new PlainHistogram(registry, {
    name: `${dialect.components.nodeAgent}_volume_metric_collection_duration_seconds`,
    help: '[ALPHA] Duration in seconds to calculate volume stats',
    labelNames: ['metric_source'],
    buckets,
  });
  return (source, ms) => seconds.labels(source).observe(ms / 1000);
}

/** Registers metrics that are measured when they are read. */
export function observeVolumes({ registry, dialect, meter, pods }: VolumeMetricsOptions): void {
  const prefix = `${dialect.components.nodeAgent}_volume_stats`;
  let measuring: Promise<readonly ClaimUsage[]> | undefined;
  // All metrics of one scrape share a measurement.
  const measure = () => {
    measuring ??= usageOfClaims(pods(), meter).finally(() => {
      measuring = undefined;
    });
    return measuring;
  };
  for (const [name, help, value] of rows) {
    gauge(registry, {
      name: `${prefix}_${name}`,
      help: `[ALPHA] ${help}`,
      labelNames: ['namespace', 'persistentvolumeclaim'],
      async collect() {
        const claims = await measure();
        this.reset();
        for (const { namespace, persistentvolumeclaim, usage } of claims) {
          const number = value(usage);
          if (number !== undefined) this.set({ namespace, persistentvolumeclaim }, number);
        }
      },
    });
  }
}

interface ClaimUsage {
  readonly namespace: string;
  readonly persistentvolumeclaim: string;
  readonly usage: VolumeUsage;
}

/** A claim that several pods use may appear several times with equal values. */
async function usageOfClaims(pods: readonly Pod[], meter: Pick<StorageMeter, 'usage'>): Promise<readonly ClaimUsage[]> {
  const claiming = pods.filter((pod) => pod.spec.volumes?.some((volume) => claimOf(pod, volume) !== undefined));
  if (claiming.length === 0) return [];
  // Pass all pods, since the meter forgets omitted ones.
  const measured = await meter.usage(pods);
  return claiming.flatMap((pod) => {
    const { metadata, spec } = pod;
    return (measured.get(metadata.uid ?? '')?.volumes ?? []).flatMap((usage) => {
      const volume = spec.volumes?.find(({ name }) => name === usage.name);
      const persistentvolumeclaim = volume === undefined ? undefined : claimOf(pod, volume);
      if (persistentvolumeclaim === undefined) return [];
      return [{ namespace: metadata.namespace ?? '', persistentvolumeclaim, usage }];
    });
  });
}

function claimOf({ metadata }: Pod, volume: Volume): string | undefined {
  return claimNameOf(metadata.name ?? '', volume);
}
