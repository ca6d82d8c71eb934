/**
 * Tracks the objects that each node needs for the pods bound to it: pod → secrets, config maps, service account, claims →
 * volumes → their secrets.
 */
import { persistentvolumes, pods } from '#api/core/v1/resources.gen.js';
import type { PersistentVolume, Pod } from '#api/core/v1/types.gen.js';
import { volumeattachments } from '#api/storage/v1/resources.gen.js';
import type { VolumeAttachment } from '#api/storage/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { keyOf } from '#apimachinery/object-key.js';
import { type PodReferences, podReferences } from '#apiserver/authorization/node/pod-references.js';
import { Mirror } from '#apiserver/objects/object-mirror.js';
import type { Follower, ObjectReader } from '#apiserver/objects/object-reader.js';

export type NeededResource = 'secrets' | 'configmaps' | 'persistentvolumeclaims' | 'serviceaccounts';

export class NodeGraph {
  /** `resource/namespace/name` → node → number of the node's pods that need it. */
  readonly #needed = new Map<string, Map<string, number>>();
  /** `namespace/name` of a secret → names of volumes that need it. */
  readonly #volumeSecrets = new Map<string, Set<string>>();
  readonly #pods: PodFollower;
  readonly #volumes: Mirror<PersistentVolume>;
  readonly #attachments = new Mirror<VolumeAttachment>();

  constructor(dialect: Dialect) {
    this.#pods = new PodFollower(dialect, (needs, by) => this.#count(needs, by));
    this.#volumes = new Mirror<PersistentVolume>({
      put: (volume, old) => {
        if (old !== undefined) this.#forgetSecrets(old);
        for (const secret of volumeSecrets(volume)) {
          const volumes = this.#volumeSecrets.get(secret) ?? new Set();
          this.#volumeSecrets.set(secret, volumes.add(volume.metadata.name ?? ''));
        }
      },
      drop: (volume) => this.#forgetSecrets(volume),
    });
  }

  async start(reader: ObjectReader, signal: AbortSignal): Promise<void> {
    await Promise.all([
      reader.follow(pods, this.#pods, signal),
      this.#volumes.start(reader, persistentvolumes, signal),
      this.#attachments.start(reader, volumeattachments, signal),
    ]);
  }

  /** Whether a pod on the node refers to the object, itself or through a volume. */
  needs(node: string, resource: NeededResource, namespace: string, name: string): boolean {
    if ((this.#needed.get(needKey(resource, namespace, name))?.get(node) ?? 0) > 0) return true;
    if (resource !== 'secrets') return false;
    const volumes = this.#volumeSecrets.get(`${namespace}/${name}`);
    for (const volume of volumes ?? []) if (this.needsVolume(node, volume)) return true;
    return false;
  }

  /** Whether a pod on the node uses the claim that the volume is bound to. */
  needsVolume(node: string, name: string): boolean {
    const claim = this.#volumes.get('', name)?.spec?.claimRef;
    if (claim === undefined) return false;
    return this.needs(node, 'persistentvolumeclaims', claim.namespace ?? '', claim.name ?? '');
  }

  needsAttachment(node: string, name: string): boolean {
    return this.#attachments.get('', name)?.spec?.nodeName === node;
  }

  #count({ node, namespace, references }: PodNeeds, by: 1 | -1): void {
    const change = (resource: NeededResource, name: string) =>
      this.#change(needKey(resource, namespace, name), node, by);
    for (const name of references.secrets) change('secrets', name);
    for (const name of references.configMaps) change('configmaps', name);
    for (const name of references.claims) change('persistentvolumeclaims', name);
    if (references.serviceAccount !== '') change('serviceaccounts', references.serviceAccount);
  }

  #change(key: string, node: string, by: number): void {
    const nodes = this.#needed.get(key) ?? new Map<string, number>();
    const count = (nodes.get(node) ?? 0) + by;
    if (count > 0) nodes.set(node, count);
    else nodes.delete(node);
    if (nodes.size > 0) this.#needed.set(key, nodes);
    else this.#needed.delete(key);
  }

  #forgetSecrets(volume: PersistentVolume): void {
    for (const secret of volumeSecrets(volume)) {
      const volumes = this.#volumeSecrets.get(secret);
      volumes?.delete(volume.metadata.name ?? '');
      if (volumes?.size === 0) this.#volumeSecrets.delete(secret);
    }
  }
}

const needKey = (resource: NeededResource, namespace: string, name: string): string =>
  `${resource}/${namespace}/${name}`;

/** `namespace/name` of the secrets that a node needs to mount the volume. */
function volumeSecrets(volume: PersistentVolume): string[] {
  const { spec } = volume;
  if (spec === undefined) return [];
  const claimNamespace = spec.claimRef?.namespace ?? '';
  const references = [
    spec.cephfs?.secretRef,
    spec.cinder?.secretRef,
    spec.flexVolume?.secretRef,
    spec.iscsi?.secretRef,
    spec.rbd?.secretRef,
    spec.scaleIO?.secretRef,
    spec.storageos?.secretRef,
    spec.csi?.nodePublishSecretRef,
    // Leave out the secrets for the controller: they are not the node's.
    spec.csi?.nodeStageSecretRef,
    spec.azureFile === undefined
      ? undefined
      : { name: spec.azureFile.secretName, namespace: spec.azureFile.secretNamespace },
  ];
  return references.flatMap((reference) => {
    if (reference?.name === undefined || reference.name === '') return [];
    const namespace =
      reference.namespace === undefined || reference.namespace === '' ? claimNamespace : reference.namespace;
    return [`${namespace}/${reference.name}`];
  });
}

interface PodNeeds {
  readonly node: string;
  readonly namespace: string;
  readonly references: PodReferences;
}

interface TrackedPod extends PodNeeds {
  readonly uid: string | undefined;
  readonly ephemeralContainers: number;
}

const nodeNameMember = '"nodeName":"';

/** Tracks the needs of each pod bound to a node. The pods themselves are not kept: they are many and large. */
class PodFollower implements Follower<Pod> {
  readonly #dialect: Dialect;
  readonly #count: (needs: PodNeeds, by: 1 | -1) => void;
  readonly #tracked = new Map<string, TrackedPod>();

  /** `count` is called for needs that begin (1) and end (-1). */
  constructor(dialect: Dialect, count: (needs: PodNeeds, by: 1 | -1) => void) {
    this.#dialect = dialect;
    this.#count = count;
  }

  /** A cheap filter: every bound pod names its node; a label or annotation may match by accident. */
  concerns(json: Buffer): boolean {
    return json.includes(nodeNameMember);
  }

  replaced(pods: readonly Pod[]): void {
    for (const pod of pods) this.changed(pod);
    this.only(new Set(pods.map(keyOf)));
  }

  only(keys: ReadonlySet<string>): void {
    for (const key of this.#tracked.keys()) if (!keys.has(key)) this.#drop(key);
  }

  changed(pod: Pod): void {
    const key = keyOf(pod);
    const tracked = this.#tracked.get(key);
    if (tracked !== undefined && unchanged(pod, tracked)) return;
    this.#drop(key);
    const { metadata, spec } = pod;
    const node = spec.nodeName ?? '';
    // A mirror pod is written by the node itself, which must not give itself access by naming objects.
    const mirror = metadata.annotations?.[this.#dialect.annotations.configMirror] !== undefined;
    if (node === '' || mirror) return;
    const needs: TrackedPod = {
      node,
      namespace: metadata.namespace ?? '',
      references: podReferences(pod),
      uid: metadata.uid,
      ephemeralContainers: spec.ephemeralContainers?.length ?? 0,
    };
    this.#tracked.set(key, needs);
    this.#count(needs, 1);
  }

  removed(pod: Pod): void {
    this.#drop(keyOf(pod));
  }

  #drop(key: string): void {
    const tracked = this.#tracked.get(key);
    if (tracked === undefined) return;
    this.#tracked.delete(key);
    this.#count(tracked, -1);
  }
}

/** True if the pod's needs are unchanged: most updates change only the status. */
function unchanged({ metadata, spec }: Pod, tracked: TrackedPod): boolean {
  return (
    metadata.uid === tracked.uid &&
    spec.nodeName === tracked.node &&
    (spec.ephemeralContainers?.length ?? 0) === tracked.ephemeralContainers
  );
}
