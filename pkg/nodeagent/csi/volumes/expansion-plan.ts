/** What the agent writes into a claim's status before and after the driver expands its volume. Rules of 1.24. Pure. */
import type { PersistentVolumeClaim } from '#api/core/v1/types.gen.js';
import { compareQuantities } from '#apimachinery/quantity.js';

export interface ExpansionPlan {
  /** False: the claim's status forbids the expansion on this node. */
  readonly proceeds: boolean;
  /** The claim's status says first that the node expands. */
  readonly marksProgress: boolean;
  /** The claim's status does not have the new size yet; it may have if several nodes use the volume. */
  readonly marksCapacity: boolean;
}

/** States of a claim in which the node may expand; a claim without a state may be one of an older controller. */
const expandable: ReadonlySet<string | undefined> = new Set([
  undefined,
  'NodeExpansionPending',
  'NodeExpansionInProgress',
]);

/** `recovers`: the gate RecoverVolumeExpansionFailure is on. */
export function planExpansion({ status }: PersistentVolumeClaim, newSize: string, recovers: boolean): ExpansionPlan {
  const hasSize = compareQuantities(status?.capacity?.['storage'] ?? '0', newSize) >= 0;
  if (!recovers) return { proceeds: true, marksProgress: false, marksCapacity: !hasSize };
  const state = status?.resizeStatus;
  const isDone = hasSize && (state === undefined || state === '');
  const proceeds = isDone || expandable.has(state);
  return { proceeds, marksProgress: proceeds && !isDone, marksCapacity: !isDone };
}

/** Conditions that end with the expansion. */
const resizeConditions: ReadonlySet<string> = new Set(['FileSystemResizePending', 'Resizing']);

/** A strategic merge patch of the claim's status after the expansion; it fails if the claim has changed meanwhile. */
export function expansionPatch(
  { metadata, status }: PersistentVolumeClaim,
  newSize: string,
  recovers: boolean,
): object {
  const ended = (status?.conditions ?? []).filter(({ type }) => resizeConditions.has(type));
  return {
    metadata: { resourceVersion: metadata.resourceVersion },
    status: {
      capacity: { storage: newSize },
      ...(ended.length === 0 ? {} : { conditions: ended.map(({ type }) => ({ type, $patch: 'delete' })) }),
      ...(recovers ? { resizeStatus: '' } : {}),
    },
  };
}
