import type { Node, PersistentVolume, PersistentVolumeClaim, Pod, Volume } from '#api/core/v1/types.gen.js';
import type { StorageClass } from '#api/storage/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { value } from '#apimachinery/quantity.js';
import { labelsOf, type Model, nameOf, podsOn, type Refused } from '#scheduler/testing/reference/model.js';

const refusedBy = (plugin: string, reason: string): Refused => ({ plugin, reasons: [reason] });

const claimNames = (pod: Pod) =>
  (pod.spec.volumes ?? []).flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? []);
const claimOf = ({ storage }: Model, pod: Pod, name: string) => storage.claim(`${pod.metadata.namespace}/${name}`);
const sizeOf = (quantity: string | undefined) => Number(value(quantity ?? '0'));
const requestedSize = ({ spec }: PersistentVolumeClaim) => sizeOf(spec.resources?.requests?.['storage']);
const isBound = ({ metadata, spec }: PersistentVolumeClaim, { annotations }: Dialect) =>
  spec.volumeName !== undefined && metadata.annotations?.[annotations.bindCompleted] !== undefined;

/** ReadWriteOncePod: a claim that is missing or used by another pod. */
export function singleClaimsRefusal(model: Model, pod: Pod): Refused | undefined {
  const names = claimNames(pod);
  const missing = names.find((name) => claimOf(model, pod, name) === undefined);
  if (missing !== undefined) return refusedBy('VolumeRestrictions', `persistentvolumeclaim "${missing}" not found`);
  const otherClaims = model.pods
    .filter(({ metadata }) => metadata.namespace === pod.metadata.namespace)
    .flatMap(claimNames);
  const isUsed = names.some(
    (name) => claimOf(model, pod, name)?.spec.accessModes?.includes('ReadWriteOncePod') && otherClaims.includes(name),
  );
  if (!isUsed) return undefined;
  const reason = 'node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode';
  return refusedBy('VolumeRestrictions', reason);
}

/** Why a claim rules out all nodes. */
export function claimsRefusal(model: Model, pod: Pod, dialect: Dialect): Refused | undefined {
  for (const name of claimNames(pod)) {
    const claim = claimOf(model, pod, name);
    if (claim === undefined) return refusedBy('VolumeBinding', `persistentvolumeclaim "${name}" not found`);
    const mode = model.storage.storageClass(claim.spec.storageClassName ?? '')?.volumeBindingMode;
    if (!isBound(claim, dialect) && mode !== 'WaitForFirstConsumer') {
      return refusedBy('VolumeBinding', 'pod has unbound immediate PersistentVolumeClaims');
    }
  }
  return undefined;
}

export function volumesRefusal(model: Model, pod: Pod, node: Node, dialect: Dialect): Refused | undefined {
  if (podsOn(model, node).some((other) => diskClash(pod, other))) {
    return refusedBy('VolumeRestrictions', 'node(s) had no available disk');
  }
  if (tooMany(model, pod, node)) return refusedBy('NodeVolumeLimits', 'node(s) exceed max volume count');
  const reasons = bindingReasons(model, pod, node, dialect);
  if (reasons.length > 0) return { plugin: 'VolumeBinding', reasons };
  if (otherZone(model, pod, node, dialect)) return refusedBy('VolumeZone', 'node(s) had no available volume zone');
  return undefined;
}

function diskClash(a: Pod, b: Pod): boolean {
  const clash = (left: Volume, right: Volume) => {
    const reading = (disk: { readonly readOnly?: boolean } | undefined) => disk?.readOnly === true;
    const [gce, aws, rbd] = [left.gcePersistentDisk, left.awsElasticBlockStore, left.rbd];
    if (gce !== undefined && gce.pdName === right.gcePersistentDisk?.pdName) {
      return !(reading(gce) && reading(right.gcePersistentDisk));
    }
    if (rbd !== undefined && rbd.image === right.rbd?.image) return !(reading(rbd) && reading(right.rbd));
    return aws !== undefined && aws.volumeID === right.awsElasticBlockStore?.volumeID;
  };
  return (a.spec.volumes ?? []).some((left) => (b.spec.volumes ?? []).some((right) => clash(left, right)));
}

function tooMany(model: Model, pod: Pod, node: Node): boolean {
  const { storage } = model;
  const drivers = storage.csiNode(nameOf(node))?.spec.drivers ?? [];
  const disks = (of: Pod) =>
    claimNames(of).flatMap((name) => {
      const claim = claimOf(model, of, name);
      if (claim === undefined) return [];
      const csi = storage.volume(claim.spec.volumeName ?? '')?.spec.csi;
      if (csi !== undefined) return [`${csi.driver} ${csi.volumeHandle}`];
      if (storage.volume(claim.spec.volumeName ?? '') !== undefined) return [];
      const provisioner = storage.storageClass(claim.spec.storageClassName ?? '')?.provisioner;
      return provisioner === undefined ? [] : [`${provisioner} for ${of.metadata.namespace}/${name}`];
    });
  const attached = podsOn(model, node).flatMap(disks);
  const fresh = disks(pod).filter((disk) => !attached.includes(disk));
  return drivers.some(({ allocatable, name }) => {
    const ofDriver = (all: readonly string[]) => new Set(all.filter((disk) => disk.startsWith(`${name} `))).size;
    return (
      ofDriver(fresh) > 0 && ofDriver(attached) + ofDriver(fresh) > (allocatable?.count ?? Number.POSITIVE_INFINITY)
    );
  });
}

function reachable(volume: PersistentVolume, node: Node): boolean {
  const terms = volume.spec.nodeAffinity?.required?.nodeSelectorTerms;
  const met = terms?.some(({ matchExpressions = [] }) =>
    matchExpressions.every(({ key, values = [] }) => values.includes(labelsOf(node)[key] ?? '')),
  );
  return met ?? true;
}

function bindingReasons(model: Model, pod: Pod, node: Node, dialect: Dialect): string[] {
  const claims = claimNames(pod).flatMap((name) => claimOf(model, pod, name) ?? []);
  const waiting = waitingReason(
    model,
    claims.filter((claim) => !isBound(claim, dialect)),
    node,
    dialect,
  );
  const volumes = claims
    .filter((claim) => isBound(claim, dialect))
    .map(({ spec }) => model.storage.volume(spec.volumeName ?? ''));
  const bad = volumes.filter((volume) => volume === undefined || !reachable(volume, node));
  const gone = 'node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)';
  const bound = bad.map((volume) => (volume === undefined ? gone : 'node(s) had volume node affinity conflict'));
  return [...(waiting === undefined ? [] : [waiting]), ...bound.slice(0, 1)];
}

/** Why the claims cannot get volumes on the node. */
function waitingReason(
  model: Model,
  waiting: readonly PersistentVolumeClaim[],
  node: Node,
  dialect: Dialect,
): string | undefined {
  const none = "node(s) didn't find available persistent volumes to bind";
  const assigned: PersistentVolume[] = [];
  const make: PersistentVolumeClaim[] = [];
  for (const claim of [...waiting].sort((a, b) => requestedSize(a) - requestedSize(b))) {
    const chosen = claim.metadata.annotations?.[dialect.annotations.selectedNode];
    if (chosen !== undefined && chosen !== nameOf(node)) return none;
    const volume = chosen === undefined ? volumeFor(model, claim, node, assigned) : undefined;
    if (volume === undefined) make.push(claim);
    else assigned.push(volume);
  }
  for (const claim of make) {
    const storageClass = model.storage.storageClass(claim.spec.storageClassName ?? '');
    if (storageClass === undefined || !canProvision(storageClass, node, dialect)) return none;
    const places = model.storage
      .capacities(storageClass)
      ?.filter(({ nodeTopology }) =>
        Object.entries(nodeTopology?.matchLabels ?? {}).every(([key, label]) => labelsOf(node)[key] === label),
      );
    const most = Math.max(-1, ...(places ?? []).map(({ capacity }) => sizeOf(capacity)));
    if (places !== undefined && most < requestedSize(claim)) return 'node(s) did not have enough free storage';
  }
  return undefined;
}

function volumeFor(
  { storage }: Model,
  claim: PersistentVolumeClaim,
  node: Node,
  assigned: readonly PersistentVolume[],
): PersistentVolume | undefined {
  const { name, namespace } = claim.metadata;
  const available = storage.volumesFor(claim).filter((volume) => !assigned.includes(volume));
  const isReserved = ({ spec: { claimRef } }: PersistentVolume) =>
    claimRef?.name === name && claimRef?.namespace === namespace;
  const isLarge = ({ spec }: PersistentVolume) => sizeOf(spec.capacity?.['storage']) >= requestedSize(claim);
  if (available.some((volume) => isReserved(volume) && !reachable(volume, node))) return undefined;
  const reserved = available.find((volume) => isReserved(volume) && isLarge(volume));
  if (reserved !== undefined) return reserved;
  return available
    .filter(({ spec, status }) => spec.claimRef === undefined && status?.phase === 'Available')
    .filter(({ spec }) => spec.storageClassName === claim.spec.storageClassName)
    .filter((volume) => reachable(volume, node) && isLarge(volume))
    .sort((a, b) => sizeOf(a.spec.capacity?.['storage']) - sizeOf(b.spec.capacity?.['storage']))[0];
}

function canProvision({ allowedTopologies, provisioner }: StorageClass, node: Node, { labelDomain }: Dialect): boolean {
  if (provisioner === `${labelDomain}/no-provisioner`) return false;
  const places = (allowedTopologies ?? []).flatMap(({ matchLabelExpressions = [] }) => matchLabelExpressions);
  return places.length === 0 || places.some(({ key, values }) => values.includes(labelsOf(node)[key] ?? ''));
}

function otherZone(model: Model, pod: Pod, node: Node, { labels }: Dialect): boolean {
  if (labelsOf(node)[labels.zone] === undefined) return false;
  return claimNames(pod).some((name) => {
    const volume = model.storage.volume(claimOf(model, pod, name)?.spec.volumeName ?? '');
    const zones = volume?.metadata.labels?.[labels.zone]?.split('__');
    return zones?.includes(labelsOf(node)[labels.zone] ?? '') === false;
  });
}
