/**
 * The time of the earliest change since the last reconcile, from which consumers of endpoints measure their delay.
 * Rules of release 1.24 (TriggerTimeTracker).
 */
import { getPodCondition } from '#api/core/v1/pod/conditions.js';
import type { Pod, Service } from '#api/core/v1/types.gen.js';

interface ServiceState {
  readonly service: number;
  /** When each pod's readiness changed, by name. */
  readonly pods: ReadonlyMap<string, number>;
}

export class TriggerTimes {
  readonly #states = new Map<string, ServiceState>();

  /** Stores the new state and returns the time (RFC 3339); undefined when nothing has changed. */
  update(key: string, { metadata }: Service, pods: readonly Pod[]): string | undefined {
    const before = this.#states.get(key);
    const created = Date.parse(metadata.creationTimestamp ?? '');
    const times = new Map<string, number>();
    let earliest = created > (before?.service ?? Number.NEGATIVE_INFINITY) ? created : Number.POSITIVE_INFINITY;
    for (const { metadata, status } of pods) {
      const name = metadata.name ?? '';
      const time = Date.parse(getPodCondition(status, 'Ready')?.lastTransitionTime ?? '');
      if (Number.isNaN(time)) continue;
      times.set(name, time);
      if (time > (before?.pods.get(name) ?? Number.NEGATIVE_INFINITY)) earliest = Math.min(earliest, time);
    }
    this.#states.set(key, { service: created, pods: times });
    // For a new service, ignore earlier changes of its pods.
    const trigger = before === undefined ? created : earliest;
    return Number.isFinite(trigger) ? new Date(trigger).toISOString().replace('.000Z', 'Z') : undefined;
  }

  forget(key: string): void {
    this.#states.delete(key);
  }
}
