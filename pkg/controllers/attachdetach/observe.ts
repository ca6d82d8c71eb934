/** Looks up pods, claims and volumes of nodes in the caches. */
import { claimNameOf } from '#api/core/v1/pod/claims.js';
import { isPodTerminal } from '#api/core/v1/pod/conditions.js';
import { persistentvolumeclaims, persistentvolumes, pods as podType } from '#api/core/v1/resources.gen.js';
import type { PersistentVolume, PersistentVolumeClaim, Pod, Volume } from '#api/core/v1/types.gen.js';
import { csidrivers } from '#api/storage/v1/resources.gen.js';
import type { CSIDriver } from '#api/storage/v1/types.gen.js';
import { keyFor } from '#apimachinery/object-key.js';
import type { Informer } from '#client/informer/informer.js';
import { type AttachableVolume, attachable } from '#controllers/attachdetach/volumes.js';
import type { ControllerContext } from '#controllers/framework/context.js';
import {
  indexByClaim,
  indexByNode,
  podsOfClaim,
  podsOfNode,
  sharedInformer,
} from '#controllers/framework/informers.js';
import { controllerOf } from '#controllers/framework/owners.js';
import { memberOf } from '#controllers/framework/volume-plugins.js';

/** Volume members that in-tree plugins attach in 1.24; this manager has no such plugins. */
const inTreeMembers: ReadonlySet<string | undefined> = new Set([
  'awsElasticBlockStore',
  'azureDisk',
  'cinder',
  'fc',
  'gcePersistentDisk',
  'iscsi',
  'rbd',
  'vsphereVolume',
]);

export class VolumeUsers {
  readonly pods: Informer<Pod>;
  readonly claims: Informer<PersistentVolumeClaim>;
  readonly volumes: Informer<PersistentVolume>;
  readonly #drivers: Informer<CSIDriver>;
  readonly #context: ControllerContext;

  constructor(context: ControllerContext) {
    const { informers } = context;
    this.#context = context;
    this.pods = sharedInformer(informers, podType);
    indexByClaim(this.pods);
    indexByNode(this.pods);
    this.claims = sharedInformer(informers, persistentvolumeclaims);
    this.volumes = sharedInformer(informers, persistentvolumes);
    this.#drivers = sharedInformer(informers, csidrivers);
  }

  /** The volumes that the node's pods need, without duplicates. */
  volumesOn(node: string): AttachableVolume[] {
    const volumes = new Map<string, AttachableVolume>();
    for (const pod of podsOfNode(this.pods, node)) {
      if (hasEnded(pod)) continue;
      for (const volume of pod.spec.volumes ?? []) {
        const persistent = this.#volumeOf(pod, volume);
        const attachable = persistent && this.attachable(persistent);
        if (attachable !== undefined) volumes.set(attachable.uniqueName, attachable);
      }
    }
    return [...volumes.values()];
  }

  /** Undefined for volumes that do not need to be attached. */
  attachable(volume: PersistentVolume): AttachableVolume | undefined {
    const result = attachable(volume, this.#context.dialect);
    return result && this.#drivers.get(result.driver)?.spec.attachRequired !== false ? result : undefined;
  }

  /** Pods on the node with volumes that no driver can attach, and the volumes' names. */
  unattachableOn(node: string): { readonly pod: Pod; readonly volume: string }[] {
    return podsOfNode(this.pods, node).flatMap((pod) => {
      if (hasEnded(pod)) return [];
      return (pod.spec.volumes ?? []).flatMap((volume) => {
        const persistent = this.#volumeOf(pod, volume);
        const member = memberOf(persistent?.spec ?? volume);
        return inTreeMembers.has(member) ? [{ pod, volume: persistent?.metadata.name ?? volume.name }] : [];
      });
    });
  }

  /** Unfinished pods that use the volume. */
  podsOf(volumeName: string): Pod[] {
    const reference = this.volumes.get(volumeName)?.spec.claimRef;
    if (reference === undefined) return [];
    return podsOfClaim(this.pods, keyFor(reference.namespace, reference.name ?? '')).filter((pod) => !hasEnded(pod));
  }

  /** The persistent volume to which a pod's volume is bound. */
  #volumeOf(pod: Pod, volume: Volume): PersistentVolume | undefined {
    const { namespace, name = '', uid } = pod.metadata;
    const claimName = claimNameOf(name, volume);
    const claim = claimName === undefined ? undefined : this.claims.get(keyFor(namespace, claimName));
    if (claim?.status?.phase !== 'Bound') return undefined;
    if (volume.ephemeral !== undefined && controllerOf(claim)?.uid !== uid) return undefined;
    const persistent = this.volumes.get(claim.spec.volumeName ?? '');
    return persistent?.spec.claimRef?.uid === claim.metadata.uid ? persistent : undefined;
  }
}

/** Whether the pod is finished, or being deleted without running containers. */
function hasEnded(pod: Pod): boolean {
  if (isPodTerminal(pod)) return true;
  if (pod.metadata.deletionTimestamp === undefined) return false;
  return (pod.status?.containerStatuses ?? []).every(
    ({ state }) => state?.terminated !== undefined || state?.waiting !== undefined,
  );
}
