/** The metrics of reflectors and informers. */
import type { Registry } from 'prom-client';
import { counter, gauge } from '#daemon/metrics/metric.js';

export interface ReflectorMetrics {
  listStarted(): void;
  listFinished(durationMs: number, objects: number, resourceVersion: string): void;
  watchStarted(): void;
  watchFinished(events: number): void;
  observedVersion(resourceVersion: string): void;
  handlerFailed(): void;
}

export const noReflectorMetrics: ReflectorMetrics = {
  listStarted() {},
  listFinished() {},
  watchStarted() {},
  watchFinished() {},
  observedVersion() {},
  handlerFailed() {},
};

/** The metrics of one informer; `name` is the resource's plural. */
export function reflectorMetrics(registry: Registry, name: string, size: () => number): ReflectorMetrics {
  const labelNames = ['name'];
  const make = (metric: string, help: string) => {
    const child = counter(registry, { name: metric, help, labelNames }).labels(name);
    child.inc(0);
    return child;
  };
  const lists = make('reflector_lists_total', 'Total number of API lists done by the reflectors');
  const seconds = make('reflector_list_duration_seconds_total', 'Seconds that API lists took altogether');
  const watches = make('reflector_watches_total', 'Total number of API watches done by the reflectors');
  const events = make('reflector_watch_events_total', 'Total number of events that watches brought');
  const failures = make('informer_handler_failures_total', 'Event handlers that threw');
  const version = gauge(registry, {
    name: 'reflector_last_resource_version',
    help: 'Last resource version seen by the reflectors',
    labelNames,
  });
  const objects = gauge(registry, { name: 'informer_objects', help: 'Objects in the stores of informers', labelNames });
  return {
    listStarted: () => lists.inc(),
    listFinished(durationMs, _objects, resourceVersion) {
      seconds.inc(durationMs / 1000);
      this.observedVersion(resourceVersion);
      objects.set({ name }, size());
    },
    watchStarted: () => watches.inc(),
    watchFinished(count) {
      events.inc(count);
      objects.set({ name }, size());
    },
    observedVersion: (resourceVersion) => version.set({ name }, Number(resourceVersion)),
    handlerFailed: () => failures.inc(),
  };
}
