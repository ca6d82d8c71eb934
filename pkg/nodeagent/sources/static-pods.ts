/** The static pods of the node, merged from the last state of their sources. */
import type { Pod } from '#api/core/v1/types.gen.js';
import { type Clock, formatTime } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { semanticEqual } from '#apimachinery/equality.js';
import type { Logger } from '#daemon/log/logger.js';
import type { PodEvents } from '#nodeagent/events/pod-events.js';
import type { StaticSource } from '#nodeagent/sources/static-pod.js';

export interface StaticPodsOptions {
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly log: Logger;
  readonly events: Pick<PodEvents, 'pod'>;
  /** The configured sources; the set is complete once each has reported. */
  readonly sources: readonly StaticSource[];
}

export interface StaticPodHandler {
  /** New pod, or new content for the same UID. */
  onUpdate(pod: Pod): void;
  onDelete(pod: Pod): void;
}

/** `namespace/name`. */
export function fullName({ metadata: { namespace = '', name = '' } }: Pod): string {
  return `${namespace}/${name}`;
}

export class StaticPods {
  readonly #options: StaticPodsOptions;
  /** By source, then by UID. */
  readonly #pods = new Map<StaticSource, ReadonlyMap<string, Pod>>();
  readonly #handlers = new Set<StaticPodHandler>();

  constructor(options: StaticPodsOptions) {
    this.#options = options;
  }

  /** True once every source has reported. */
  get hasSynced(): boolean {
    return this.#options.sources.every((source) => this.#pods.has(source));
  }

  list(): Pod[] {
    return [...this.#pods.values()].flatMap((pods) => [...pods.values()]);
  }

  get(uid: string): Pod | undefined {
    for (const pods of this.#pods.values()) {
      const pod = pods.get(uid);
      if (pod !== undefined) return pod;
    }
    return undefined;
  }

  /** By `namespace/name`. */
  named(key: string): Pod | undefined {
    return this.list().find((pod) => fullName(pod) === key);
  }

  /** Calls back for existing pods, too. */
  addHandler(handler: StaticPodHandler): () => void {
    this.#handlers.add(handler);
    for (const pod of this.list()) handler.onUpdate(pod);
    return () => this.#handlers.delete(handler);
  }

  /** Replaces the pods of a source. */
  set(source: StaticSource, pods: readonly Pod[]): void {
    const before = this.#pods.get(source) ?? new Map<string, Pod>();
    const after = new Map<string, Pod>();
    const changed: Pod[] = [];
    for (const pod of this.#unique(source, pods)) {
      const uid = pod.metadata.uid ?? '';
      const oldPod = before.get(uid);
      const fresh = this.#annotated(source, pod, oldPod);
      if (oldPod !== undefined && semanticEqual(oldPod, fresh)) after.set(uid, oldPod);
      else {
        after.set(uid, fresh);
        changed.push(fresh);
      }
    }
    this.#pods.set(source, after);
    const removed = [...before].filter(([uid]) => !after.has(uid)).map(([, pod]) => pod);
    for (const handler of this.#handlers) {
      for (const pod of removed) handler.onDelete(pod);
      for (const pod of changed) handler.onUpdate(pod);
    }
  }

  /** Keeps the first pod of each name and UID. */
  #unique(source: StaticSource, pods: readonly Pod[]): Pod[] {
    const { log, events } = this.#options;
    const seen = new Set<string>();
    return pods.filter((pod) => {
      const { name, namespace, uid } = pod.metadata;
      if (seen.has(`${uid}`)) {
        log.warn({ namespace, name, uid, source }, 'ignoring a static pod with a duplicate UID');
        return false;
      }
      if (seen.has(fullName(pod))) {
        log.warn({ namespace, name, source }, 'ignoring a static pod with a duplicate name');
        const message = `Error validating pod ${name}_${namespace}(${uid}) from ${source} due to duplicate pod name ${JSON.stringify(name)}, ignoring`;
        events.pod(pod, 'Warning', 'FailedValidation', message);
        return false;
      }
      seen.add(`${uid}`).add(fullName(pod));
      return true;
    });
  }

  #annotated(source: StaticSource, pod: Pod, oldPod: Pod | undefined): Pod {
    const { dialect, clock } = this.#options;
    const { configSource, configSeen } = dialect.annotations;
    const seenAt = oldPod?.metadata.annotations?.[configSeen] ?? formatTime(clock.now());
    const annotations = { ...pod.metadata.annotations, [configSource]: source, [configSeen]: seenAt };
    return { ...pod, metadata: { ...pod.metadata, annotations } };
  }
}
