/** The series of volumes and claims, named as in 1.24. */
import type { PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Lister } from '#client/informer/informer.js';
import type { ControllerMetrics, GaugeSample } from '#controllers/framework/metrics.js';
import { pluginLabel } from '#controllers/framework/volume-plugins.js';

interface Listers {
  readonly volumes: Pick<Lister<PersistentVolume>, 'list'>;
  readonly claims: Pick<Lister<PersistentVolumeClaim>, 'list'>;
}

/** Counts volumes and claims whenever they are asked for. Returns the function that ends it. */
export function registerCounts(metrics: ControllerMetrics, { volumes, claims }: Listers, dialect: Dialect): () => void {
  const isBound = ({ status }: { readonly status?: { readonly phase?: string } }) => status?.phase === 'Bound';
  const ofClass = (bound: boolean) => () =>
    counted(volumes.list(), ['storage_class'], (volume) =>
      isBound(volume) === bound ? [volume.spec.storageClassName ?? ''] : undefined,
    );
  const ofNamespace = (bound: boolean) => () =>
    counted(claims.list(), ['namespace'], (claim) =>
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
      counted(volumes.list(), ['plugin_name', 'volume_mode'], ({ spec }) => [
        pluginLabel(spec, dialect),
        spec.volumeMode ?? 'Filesystem',
      ]),
    ),
  ];
  return () => {
    for (const each of end) each();
  };
}

/** How many objects have each combination of labels; those without any are left out. */
function counted<T>(
  objects: readonly T[],
  names: readonly string[],
  valuesOf: (object: T) => readonly string[] | undefined,
): GaugeSample[] {
  const counts = new Map<string, { labels: Record<string, string>; value: number }>();
  for (const object of objects) {
    const values = valuesOf(object);
    if (values === undefined) continue;
    const key = values.join('\0');
    const sample = counts.get(key) ?? {
      labels: Object.fromEntries(names.map((name, i) => [name, values[i] ?? ''])),
      value: 0,
    };
    sample.value += 1;
    counts.set(key, sample);
  }
  return [...counts.values()];
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

/** How long others take to make volumes and to delete them, from when they were asked to. */
export class OperationTimes {
  readonly #metrics: ControllerMetrics;
  readonly #clock: Clock;
  /** By claim or volume; as many as there are of those. */
  readonly #running = new Map<string, Running>();

  constructor(metrics: ControllerMetrics, clock: Clock) {
    this.#metrics = metrics;
    this.#clock = clock;
  }

  /** Nothing where it has begun already. */
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
