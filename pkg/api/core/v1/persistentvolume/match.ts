/** Selects a volume for a claim by the rules of release 1.24 (pkg/controller/volume/persistentvolume). Pure. */
import type { PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/types.gen.js';
import { storageClassOf } from '#api/core/v1/volume/storage-class.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { compareQuantities } from '#apimachinery/quantity.js';
import { everything, selectorFromObject } from '#apimachinery/selectors/labels.js';

/** Whether the volume is bound to this claim, or reserved for a claim with its name. */
export function isBoundTo({ spec }: PersistentVolume, { metadata }: PersistentVolumeClaim): boolean {
  const { claimRef } = spec;
  if (claimRef === undefined) return false;
  if (claimRef.name !== metadata.name || claimRef.namespace !== metadata.namespace) return false;
  return (claimRef.uid ?? '') === '' || claimRef.uid === metadata.uid;
}

/** The reason why the claim cannot have a volume that it requests by name; undefined if it can. */
export function mismatch(volume: PersistentVolume, claim: PersistentVolumeClaim, dialect: Dialect): string | undefined {
  if (volume.metadata.deletionTimestamp !== undefined) {
    return `the volume is marked for deletion "${volume.metadata.name}"`;
  }
  if (!isLargeEnough(volume, claim)) return 'requested PV is too small';
  if (storageClassOf(volume, dialect) !== storageClassOf(claim, dialect)) return 'storageClassName does not match';
  if (!hasMode(volume, claim)) return 'incompatible volumeMode';
  return hasAccessModes(volume, claim) ? undefined : 'incompatible accessMode';
}

/**
 * The volume to bind: a reserved one, or else, unless the scheduler decides (`delayed`), the smallest available volume
 * that fits with the fewest additional access modes. `candidates` includes at least all volumes reserved for the claim
 * and all unclaimed ones of its class. Throws for an invalid selector.
 */
export function bestMatch(
  claim: PersistentVolumeClaim,
  candidates: readonly PersistentVolume[],
  options: { readonly delayed: boolean; readonly dialect: Dialect },
): PersistentVolume | undefined {
  const { selector: selectorObject } = claim.spec;
  const selector = selectorObject === undefined ? everything : selectorFromObject(selectorObject);
  const storageClass = storageClassOf(claim, options.dialect);
  let best: PersistentVolume | undefined;
  for (const volume of candidates) {
    if (!suits(volume, claim)) continue;
    if (isBoundTo(volume, claim)) return volume;
    if (options.delayed || volume.spec.claimRef !== undefined || volume.status?.phase !== 'Available') continue;
    if (!selector.matches(volume.metadata.labels)) continue;
    if (storageClassOf(volume, options.dialect) !== storageClass) continue;
    if (best === undefined || isCloser(volume, best)) best = volume;
  }
  return best;
}

function suits(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  if (volume.metadata.deletionTimestamp !== undefined) return false;
  return isLargeEnough(volume, claim) && hasMode(volume, claim) && hasAccessModes(volume, claim);
}

function isCloser(a: PersistentVolume, b: PersistentVolume): boolean {
  const modes = (a.spec.accessModes?.length ?? 0) - (b.spec.accessModes?.length ?? 0);
  return modes < 0 || (modes === 0 && compareQuantities(sizeOf(a), sizeOf(b)) < 0);
}

function sizeOf({ spec }: PersistentVolume): string {
  return spec.capacity?.['storage'] ?? '0';
}

function isLargeEnough(volume: PersistentVolume, { spec }: PersistentVolumeClaim): boolean {
  return compareQuantities(sizeOf(volume), spec.resources?.requests?.['storage'] ?? '0') >= 0;
}

const defaultMode = 'Filesystem';

export function hasMode(volume: PersistentVolume, { spec }: PersistentVolumeClaim): boolean {
  return (volume.spec.volumeMode ?? defaultMode) === (spec.volumeMode ?? defaultMode);
}

function hasAccessModes({ spec }: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  return (claim.spec.accessModes ?? []).every((mode) => spec.accessModes?.includes(mode));
}
