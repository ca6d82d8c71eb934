/** Whether a claim asks for more than it has, and who is to give it. Pure. */
import type { PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/types.gen.js';
import { compareQuantities } from '#apimachinery/quantity.js';

const requested = ({ spec }: PersistentVolumeClaim) => spec.resources?.requests?.['storage'] ?? '0';
const given = ({ status }: PersistentVolumeClaim) => status?.capacity?.['storage'] ?? '0';

/** Whether the change is one of sizes: more is asked for, or there is more. */
export function hasGrown(claim: PersistentVolumeClaim, old: PersistentVolumeClaim): boolean {
  return compareQuantities(requested(claim), requested(old)) > 0 || compareQuantities(given(claim), given(old)) > 0;
}

export interface Expansion {
  readonly type: 'Normal' | 'Warning';
  readonly message: string;
}

const message =
  "Ignoring the PVC: didn't find a plugin capable of expanding the volume; waiting for an external controller to process this PVC.";

/**
 * What is told of a bound claim that asks for more than it has. No volume can be expanded by the manager itself: the
 * plugins that can are the drivers' own controllers. As in 1.24 it is a warning unless the manager has a plugin that
 * knows the volume but cannot expand it. Undefined when nothing is to be done. Throws where the volume is not the claim's.
 */
export function planExpansion(
  claim: PersistentVolumeClaim,
  volume: PersistentVolume | undefined,
): Expansion | undefined {
  const { name, namespace, uid } = claim.metadata;
  if (volume === undefined) throw new Error(`failed to get PV "${claim.spec.volumeName ?? ''}": not found`);
  const { claimRef } = volume.spec;
  if (claimRef === undefined || claimRef.namespace !== namespace || claimRef.uid !== uid) {
    throw new Error(`persistent Volume is not bound to PVC being updated : ${namespace}/${name}`);
  }
  if (compareQuantities(requested(claim), given(claim)) <= 0) return undefined;
  return { type: volume.spec.fc === undefined ? 'Warning' : 'Normal', message };
}
