/** Plans the volumes that a pod would get on a node; rules of release 1.24. Pure. */
import { matchesNodeSelectorTerm } from '#api/core/v1/affinity/node-selector.js';
import { bestMatch, isBoundTo } from '#api/core/v1/persistentvolume/match.js';
import type { Node, NodeSelectorTerm, PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/types.gen.js';
import type { StorageClass } from '#api/storage/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { compareQuantities } from '#apimachinery/quantity.js';
import { compileSelector } from '#apimachinery/selectors/labels.js';
import type { StorageObjects } from '#scheduler/cluster/objects.js';
import type { Rejection } from '#scheduler/framework/plugin.js';
import type { CsiMigration } from '#scheduler/plugins/csi-migration/csi-migration.js';
import { type PodClaims, sizeOf, type WaitingClaim } from '#scheduler/plugins/volume-binding/claims.js';

export interface VolumePlan {
  readonly bind: readonly { readonly claim: PersistentVolumeClaim; readonly volume: PersistentVolume }[];
  /** Claims whose volume a provisioner has to create for the node. */
  readonly provision: readonly PersistentVolumeClaim[];
}

export interface VolumeState {
  readonly storage: StorageObjects;
  readonly dialect: Dialect;
  readonly migration: CsiMigration;
  /** Whether a decision that is not in the API yet assigned the volume to a claim. */
  isReserved(volume: PersistentVolume): boolean;
}

const unresolvable = (reason: string): Rejection => ({ reasons: [reason], unresolvable: true });
const noVolume = unresolvable('node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)');
const elsewhere = unresolvable('node(s) had volume node affinity conflict');
const noneToBind = unresolvable("node(s) didn't find available persistent volumes to bind");
const noSpace = unresolvable('node(s) did not have enough free storage');

/** Returns the reasons of both bound and waiting claims. */
export function planVolumes({ volumes, waiting }: PodClaims, node: Node, world: VolumeState): VolumePlan | Rejection {
  const plan = planWaiting(waiting, node, world);
  const bound = boundRejection(volumes, node, world);
  if (bound === undefined) return plan;
  return 'reasons' in plan ? { ...bound, reasons: [...plan.reasons, ...bound.reasons] } : bound;
}

/** The reason of the first bound volume that the node cannot reach. */
function boundRejection(
  volumes: PodClaims['volumes'],
  node: Node,
  { migration, storage }: VolumeState,
): Rejection | undefined {
  const csiNode = storage.csiNode(node.metadata.name ?? '');
  for (const volume of volumes) {
    if (volume === undefined) return noVolume;
    if (!isWithin(migration.reachOf(volume, csiNode), node)) return elsewhere;
  }
  return undefined;
}

function planWaiting(waiting: PodClaims['waiting'], node: Node, world: VolumeState): VolumePlan | Rejection {
  const { dialect, storage } = world;
  const chosenNode = ({ metadata }: PersistentVolumeClaim) => metadata.annotations?.[dialect.annotations.selectedNode];
  const bind: { claim: PersistentVolumeClaim; volume: PersistentVolume }[] = [];
  const provision: WaitingClaim[] = [];
  for (const each of waiting) {
    const chosen = chosenNode(each.claim);
    if (chosen !== undefined && chosen !== node.metadata.name) return noneToBind;
    const volume = chosen === undefined ? volumeFor(each.claim, node, world, bind) : undefined;
    if (volume === undefined) provision.push(each);
    else bind.push({ claim: each.claim, volume });
  }
  for (const { claim, storageClass } of provision) {
    if (!canProvision(storageClass, node, dialect)) return noneToBind;
    if (!hasSpace(storageClass, claim, node, storage)) return noSpace;
  }
  return { bind, provision: provision.map(({ claim }) => claim) };
}

function volumeFor(
  claim: PersistentVolumeClaim,
  node: Node,
  { dialect, isReserved, storage }: VolumeState,
  given: VolumePlan['bind'],
): PersistentVolume | undefined {
  const all = storage
    .volumesFor(claim)
    .filter((each) => !isReserved(each) && !given.some(({ volume }) => volume === each));
  const candidates = all.filter(({ spec }) => isWithin(spec.nodeAffinity?.required?.nodeSelectorTerms, node));
  // A volume reserved for the claim cannot be replaced by another, even if it is unreachable.
  if (all.some((each) => isBoundTo(each, claim) && !candidates.includes(each))) return undefined;
  return bestMatch(claim, candidates, { delayed: false, dialect });
}

function isWithin(terms: readonly NodeSelectorTerm[] | undefined, node: Node): boolean {
  return terms === undefined || terms.some((term) => matchesNodeSelectorTerm(term, node));
}

function canProvision({ allowedTopologies, provisioner }: StorageClass, node: Node, dialect: Dialect): boolean {
  if (provisioner === '' || provisioner === `${dialect.labelDomain}/no-provisioner`) return false;
  if (allowedTopologies === undefined || allowedTopologies.length === 0) return true;
  const labels = node.metadata.labels ?? {};
  return allowedTopologies.some(({ matchLabelExpressions = [] }) =>
    matchLabelExpressions.every(({ key, values }) => values.includes(labels[key] ?? '') && labels[key] !== undefined),
  );
}

function hasSpace(
  storageClass: StorageClass,
  claim: PersistentVolumeClaim,
  { metadata }: Node,
  storage: StorageObjects,
): boolean {
  const capacities = storage.capacities(storageClass);
  if (capacities === undefined) return true;
  return capacities.some(({ capacity, maximumVolumeSize, nodeTopology }) => {
    const most = maximumVolumeSize ?? capacity;
    if (most === undefined || compareQuantities(most, sizeOf(claim)) < 0) return false;
    return nodeTopology !== undefined && compileSelector(nodeTopology)?.matches(metadata.labels) === true;
  });
}
