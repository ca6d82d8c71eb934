/** The metrics of volumes and claims, named as in 1.24. */
import type { PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Lister } from '#client/informer/informer.js';
import { type ControllerMetrics, countByLabels, type GaugeSample } from '#controllers/framework/metrics.js';
import { pluginLabel } from '#controllers/framework/volume-plugins.js';

interface Listers {
  readonly volumes: Pick<Lister<PersistentVolume>, 'list'>;
  readonly claims: Pick<Lister<PersistentVolumeClaim>, 'list'>;
}

/** Counts volumes and claims at each scrape. Returns the function that removes the gauges. */
export function registerCounts(metrics: ControllerMetrics, { volumes, claims }: Listers, dialect: Dialect): () => void {
  const isBound = ({ status }: { readonly status?: { readonly phase?: string } }) => status?.phase === 'Bound';
  const ofClass = (bound: boolean) => () =>
    countByLabels(volumes.list(), ['storage_class'], (volume) =>
      isBound(volume) === bound ? [volume.spec.storageClassName ?? ''] : undefined,
    );
  const ofNamespace = (bound: boolean) => () =>
    countByLabels(claims.list(), ['namespace'], (claim) =>
      isBound(claim) === bound ? [claim.metadata.namespace ?? ''] : undefined,
    );
  const gauge = (name: string, help: string, labelNames: readonly string[], read: () => GaugeSample[]) =>
    metrics.gauge({ name: `pv_collector_${name}_count`, help, labelNames }, read);
  const end = [
    gauge('bound_pv', 'Gauge measuring number of persistent volume currently bound', ['storage_class'], ofClass(true)),
    gauge(
      'unbound_pv',
      'Gauge measuring number of persistent volume currently unbound',
      ['storage_class'],
      ofClass(false),
    ),
    gauge(
      'bound_pvc',
      'Gauge measuring number of persistent volume claim currently bound',
      ['namespace'],
      ofNamespace(true),
    ),
    gauge(
      'unbound_pvc',
      'Gauge measuring number of persistent volume claim currently unbound',
      ['namespace'],
      ofNamespace(false),
    ),
    gauge('total_pv', 'Gauge measuring total number of persistent volumes', ['plugin_name', 'volume_mode'], () =>
      countByLabels(volumes.list(), ['plugin_name', 'volume_mode'], ({ spec }) => [
        pluginLabel(spec, dialect),
        spec.volumeMode ?? 'Filesystem',
      ]),
    ),
  ];
  return () => {
    for (const each of end) each();
  };
}

type Operation = 'provision' | 'delete';

interface Running {
  readonly plugin: string;
  readonly operation: Operation;
  readonly sinceMs: number;
}

const operationSeconds = {
  name: 'volume_operation_total_seconds',
  help: 'Total volume operation time',
  buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600],
};

/** Measures the time from the request of a volume operation to its completion. */
export class OperationTimes {
  readonly #metrics: ControllerMetrics;
  readonly #clock: Clock;
  /** By claim or volume. */
  readonly #running = new Map<string, Running>();

  constructor(metrics: ControllerMetrics, clock: Clock) {
    this.#metrics = metrics;
    this.#clock = clock;
  }

  /** Does nothing if the operation has started already. */
  begin(key: string, plugin: string, operation: Operation): void {
    if (this.#running.has(key)) return;
    this.#running.set(key, { plugin, operation, sinceMs: this.#clock.monotonic() });
  }

  failed(key: string): void {
    const running = this.#running.get(key);
    if (running === undefined) return;
    const labels = { plugin_name: running.plugin, operation_name: running.operation };
    this.#metrics.count('volume_operation_total_errors', 'Total volume operation errors', labels);
  }

  done(key: string): void {
    const running = this.#running.get(key);
    if (running === undefined) return;
    this.#running.delete(key);
    const labels = { plugin_name: running.plugin, operation_name: running.operation };
    this.#metrics.observe(operationSeconds, (this.#clock.monotonic() - running.sinceMs) / 1000, labels);
  }

  forget(key: string): void {
    this.#running.delete(key);
  }
}
