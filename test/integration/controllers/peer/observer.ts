/** Watches the objects of situations and converts them to a comparable form. */
import { pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { realClock as clock } from '#apimachinery/clock.js';
import { isConflict, isNotFound } from '#apimachinery/errors/status.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { ApiObject, Client } from '#client/client.js';
import { SharedInformerFactory } from '#client/informer/factory.js';
import { silentLogger as log } from '#daemon/log/logger.js';
import { observedKinds } from '#test/integration/controllers/peer/kinds.js';
import { neutralObject, type Seen } from '#test/integration/controllers/peer/neutral-objects.js';
import { formatted } from '#test/integration/controllers/peer/sorted-json.js';

/** The sorted texts of a situation's objects in neutral form. */
export type Snapshot = readonly string[];

/** Labels with template hashes. */
const hashLabels = ['pod-template-hash', 'controller-revision-hash', 'controller.kubernetes.io/hash'];
const hashedKinds = new Set(['ControllerRevision', 'ReplicaSet']);

class SeenObjects implements Seen {
  readonly uids = new Map<string, string>();
  readonly prefixes = new Set<string>();
  readonly hashes = new Map<string, string>();
  readonly namespace: string;
  /** Monotonic time. */
  changedAt = clock.monotonic();
  changes = 0;
  /** By kind and name. */
  readonly objects = new Map<string, { readonly type: ResourceType<ApiObject>; readonly object: ApiObject }>();
  baseline: readonly string[] = [];

  readonly anyNode: boolean;

  constructor(namespace: string, anyNode: boolean) {
    this.namespace = namespace;
    this.anyNode = anyNode;
  }

  add(type: ResourceType<ApiObject>, object: ApiObject): void {
    const { kind } = type;
    const { metadata } = object;
    const { uid = '', name = '', generateName = '' } = metadata;
    this.objects.set(`${kind}/${name}`, { type, object });
    const isMadeUp = generateName !== '' && name.startsWith(generateName);
    if (isMadeUp) this.prefixes.add(generateName.replaceAll(this.namespace, '{ns}'));
    const hash = hashedKinds.has(kind) ? hashLabels.map((label) => metadata.labels?.[label]).find(Boolean) : undefined;
    if (hash !== undefined && !this.hashes.has(hash)) this.hashes.set(hash, `<hash ${this.hashes.size + 1}>`);
    this.uids.set(uid, `${kind}/${isMadeUp ? `${generateName}*` : name}`);
    this.changedAt = clock.monotonic();
    this.changes += 1;
  }

  remove({ kind }: ResourceType<ApiObject>, { metadata }: ApiObject): void {
    this.objects.delete(`${kind}/${metadata.name ?? ''}`);
    this.changedAt = clock.monotonic();
    this.changes += 1;
  }
}

/** Pods with this label stay until the situation deletes them. */
const lingers = 'lingers';

export class Observer {
  readonly #client: Client;
  readonly #informers: SharedInformerFactory;
  readonly #namespaces = new Map<string, SeenObjects>();
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;

  constructor(client: Client) {
    this.#client = client;
    this.#informers = new SharedInformerFactory({ client, clock, random: Math.random, log });
    for (const type of observedKinds) {
      const see = (object: ApiObject) => this.#of(type, object)?.add(type, object);
      this.#informers
        .informer(type)
        .addHandler({ onAdd: see, onUpdate: see, onDelete: (object) => this.#of(type, object)?.remove(type, object) });
    }
    const reap = (pod: Pod) => void this.#reap(pod);
    this.#informers.informer(pods).addHandler({ onAdd: reap, onUpdate: reap });
  }

  async start(): Promise<void> {
    this.#running = this.#informers.start(this.#stop.signal);
    await this.#informers.waitForSync(this.#stop.signal);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** A situation owns the objects in its namespace, and cluster-scoped objects whose name begins with the namespace. */
  begin(namespace: string, { anyNode }: { readonly anyNode: boolean }): void {
    this.#namespaces.set(namespace, new SeenObjects(namespace, anyNode));
  }

  /** In order of arrival. */
  pods(namespace: string): Pod[] {
    const objects = this.#namespaces.get(namespace)?.objects.values() ?? [];
    return [...objects].flatMap(({ type, object }) => (type.kind === 'Pod' ? [object as Pod] : []));
  }

  /** @param key `Kind/name`. */
  has(namespace: string, key: string): boolean {
    return this.#namespaces.get(namespace)?.objects.has(key) === true;
  }

  /** Milliseconds since the situation's last change. */
  quietMs(namespace: string): number {
    return clock.monotonic() - (this.#namespaces.get(namespace)?.changedAt ?? 0);
  }

  /** False while a controller has not observed an object's generation. */
  isAttended(namespace: string): boolean {
    const seen = this.#namespaces.get(namespace);
    return [...(seen?.objects.values() ?? [])].every(({ type, object }) => isAttended(type.kind, object));
  }

  /** The number of observed changes of the situation. */
  changes(namespace: string): number {
    return this.#namespaces.get(namespace)?.changes ?? 0;
  }

  /** The current objects without the initial ones, and the deleted initial ones. Excludes events. */
  snapshot(namespace: string): Snapshot {
    const seen = this.#namespaces.get(namespace);
    if (seen === undefined) return [];
    const texts = this.#texts(seen, ({ kind }) => kind !== 'Event');
    const gone: string[] = [];
    for (const text of seen.baseline) {
      const index = texts.indexOf(text);
      if (index < 0) gone.push(formatted({ gone: JSON.parse(text) as unknown }));
      else texts.splice(index, 1);
    }
    return [...texts, ...gone].sort();
  }

  /** The events without duplicates, because several pods may cause the same event. */
  events(namespace: string): Snapshot {
    const seen = this.#namespaces.get(namespace);
    return seen === undefined ? [] : [...new Set(this.#texts(seen, ({ kind }) => kind === 'Event'))].sort();
  }

  /** Excludes the current objects from later snapshots. */
  begun(namespace: string): void {
    const seen = this.#namespaces.get(namespace);
    if (seen !== undefined) seen.baseline = this.#texts(seen, ({ kind }) => kind !== 'Event');
  }

  #texts(seen: SeenObjects, includes: (type: ResourceType<ApiObject>) => boolean): string[] {
    return [...seen.objects.values()].flatMap(({ type, object }) =>
      includes(type) ? [formatted(neutralObject(object as unknown as Record<string, unknown>, type.kind, seen))] : [],
    );
  }

  #of(type: ResourceType<ApiObject>, { metadata }: ApiObject): SeenObjects | undefined {
    if (type.namespaced) return this.#namespaces.get(metadata.namespace ?? '');
    return this.#namespaces.get((metadata.name ?? '').split('.')[0] ?? '');
  }

  /** Deletes the pod, as a node agent does. */
  async #reap({ metadata, spec }: Pod): Promise<void> {
    const { name = '', namespace = '', uid = '', deletionTimestamp, deletionGracePeriodSeconds = 0, labels } = metadata;
    if (deletionTimestamp === undefined || deletionGracePeriodSeconds === 0 || (spec.nodeName ?? '') === '') return;
    if (labels?.[lingers] !== undefined || !this.#namespaces.has(namespace)) return;
    try {
      await this.#client.resource(pods).delete(name, { namespace, gracePeriodSeconds: 0, preconditions: { uid } });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }
}

const observing = new Set(['DaemonSet', 'Deployment', 'PodDisruptionBudget', 'ReplicaSet', 'StatefulSet']);

function isAttended(kind: string, { metadata, ...object }: ApiObject): boolean {
  const { spec = {}, status = {} } = object as {
    readonly spec?: { readonly replicas?: number };
    readonly status?: Readonly<Record<string, unknown>>;
  };
  if (metadata.deletionTimestamp !== undefined) return true;
  if (observing.has(kind) && status['observedGeneration'] !== metadata.generation) return false;
  if (kind === 'ReplicaSet' && (status['replicas'] ?? 0) !== (spec.replicas ?? 1)) return false;
  return kind !== 'Job' || Object.keys(status).length > 0;
}
