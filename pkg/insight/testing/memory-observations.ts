/** Observations of given objects, for tests. */
import type { Event, Pod } from '#api/core/v1/types.gen.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import { parseLabelSelector } from '#apimachinery/selectors/label-parser.js';
import type { Finding, Subject } from '#insight/inquiry/finding.js';
import { type Observations, type Scope, type StoredObject, Unreadable } from '#insight/inquiry/observations.js';

export interface Scene {
  readonly objects: readonly StoredObject[];
  readonly events?: readonly Event[];
  /** Lines of a container, by `pod/container`. */
  readonly logs?: Readonly<Record<string, readonly string[]>>;
  /** Resources that the caller may not read. */
  readonly forbidden?: readonly string[];
  /** By the pod's name. */
  readonly placements?: Readonly<Record<string, readonly Finding[]>>;
}

export const nowMs = Date.parse('2026-06-01T12:00:00Z');

export class MemoryObservations implements Observations {
  readonly nowMs = nowMs;
  /** Reads so far. */
  reads = 0;
  readonly #scene: Scene;

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  get<T extends StoredObject>(type: ResourceType<T>, name: string, namespace?: string): Promise<T | undefined> {
    return this.#all(type).then((all) =>
      all.find(({ metadata }) => metadata.name === name && (!type.namespaced || metadata.namespace === namespace)),
    );
  }

  async list<T extends StoredObject>(
    type: ResourceType<T>,
    { namespace, labelSelector = '', fieldSelector = '', limit }: Scope,
  ): Promise<readonly T[]> {
    const selector = parseLabelSelector(labelSelector);
    const [, node] = /^spec\.nodeName=(.*)$/.exec(fieldSelector) ?? [];
    const selected = (await this.#all(type)).filter(
      (object) =>
        (namespace === undefined || object.metadata.namespace === namespace) &&
        selector.matches(object.metadata.labels) &&
        (node === undefined || (object as { spec?: { nodeName?: string } }).spec?.nodeName === node),
    );
    return selected.slice(0, limit);
  }

  events({ kind, namespace, name }: Subject): Promise<readonly Event[]> {
    return this.#readable('events').then(() =>
      (this.#scene.events ?? []).filter(
        ({ involvedObject: of }) => of.kind === kind && of.name === name && (of.namespace ?? '') === (namespace ?? ''),
      ),
    );
  }

  logTail(pod: Pod, container: string): Promise<readonly string[]> {
    return this.#readable('pods/log').then(() => this.#scene.logs?.[`${pod.metadata.name}/${container}`] ?? []);
  }

  placement(pod: Pod): Promise<readonly Finding[]> {
    return Promise.resolve(this.#scene.placements?.[pod.metadata.name ?? ''] ?? []);
  }

  /** Objects of a test have the kind, and the type, of the resource. */
  #all<T>(type: ResourceType<T>): Promise<T[]> {
    return this.#readable(type.resource).then(
      () => this.#scene.objects.filter(({ kind }) => kind === type.kind) as T[],
    );
  }

  #readable(resource: string): Promise<void> {
    this.reads++;
    if (this.#scene.forbidden?.includes(resource)) return Promise.reject(new Unreadable(resource));
    return Promise.resolve();
  }
}
