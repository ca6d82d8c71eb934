/** Which volumes a pod would get on a node. Rules of release 1.24. Pure. */
import { matchesNodeSelectorTerm } from '#api/core/v1/affinity/node-selector.js';
import { bestMatch } from '#api/core/v1/persistentvolume/match.js';
import type { Node, PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/types.gen.js';
import type { StorageClass } from '#api/storage/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { compareQuantities } from '#apimachinery/quantity.js';
import { compileSelector } from '#apimachinery/selectors/labels.js';
import type { StorageObjects } from '#scheduler/cluster/objects.js';
import type { Rejection } from '#scheduler/framework/plugin.js';
import { type PodClaims, sizeOf } from '#scheduler/plugins/volume-binding/claims.js';

export interface VolumePlan {
  readonly bind: readonly { readonly claim: PersistentVolumeClaim; readonly volume: PersistentVolume }[];
  /** Claims for which somebody is to make a volume for the node. */
  readonly provision: readonly PersistentVolumeClaim[];
}

export interface VolumeWorld {
  readonly storage: StorageObjects;
  readonly dialect: Dialect;
  /** A decision that is not in the API yet gave the volume to a claim. */
  isTaken(volume: PersistentVolume): boolean;
}

const unresolvable = (reason: string): Rejection => ({ reasons: [reason], unresolvable: true });
const noVolume = unresolvable('node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)');
const elsewhere = unresolvable('node(s) had volume node affinity conflict');
const noneToBind = unresolvable("node(s) didn't find available persistent volumes to bind");
const noSpace = unresolvable('node(s) did not have enough free storage');

export function planVolumes({ volumes, waiting }: PodClaims, node: Node, world: VolumeWorld): VolumePlan | Rejection {
  for (const volume of volumes) {
    if (volume === undefined) return noVolume;
    if (!isReachable(volume, node)) return elsewhere;
  }
  const bind: { claim: PersistentVolumeClaim; volume: PersistentVolume }[] = [];
  const provision: PersistentVolumeClaim[] = [];
  const { dialect, storage } = world;
  for (const { claim, storageClass } of waiting) {
    const chosen = claim.metadata.annotations?.[dialect.annotations.selectedNode];
    if (chosen !== undefined) {
      if (chosen !== node.metadata.name) return noneToBind;
      provision.push(claim);
      continue;
    }
    const candidates = storage
      .volumesFor(claim)
      .filter((each) => isReachable(each, node) && !world.isTaken(each) && !bind.some(({ volume }) => volume === each));
    const volume = bestMatch(claim, candidates, { delayed: false, dialect });
    if (volume !== undefined) {
      bind.push({ claim, volume });
      continue;
    }
    if (!canProvision(storageClass, node, dialect)) return noneToBind;
    if (!hasSpace(storageClass, claim, node, storage)) return noSpace;
    provision.push(claim);
  }
  return { bind, provision };
}

function isReachable({ spec }: PersistentVolume, node: Node): boolean {
  const terms = spec.nodeAffinity?.required?.nodeSelectorTerms;
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
