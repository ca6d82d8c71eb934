/** Plans the next step of a claim. Rules of release 1.24 (pkg/controller/volume/persistentvolume). Pure. */
import { bestMatch, isBoundTo, mismatch } from '#api/core/v1/persistentvolume/match.js';
import type { PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/types.gen.js';
import { storageClassOf } from '#api/core/v1/volume/storage-class.js';
import type { StorageClass } from '#api/storage/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { keyOf } from '#apimachinery/object-key.js';

/** The content of an event about a claim or a volume. */
export interface Notice {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

export const normal = (reason: string, message: string): Notice => ({ type: 'Normal', reason, message });
export const warning = (reason: string, message: string): Notice => ({ type: 'Warning', reason, message });

export interface ClaimObservation {
  readonly dialect: Dialect;
  readonly claim: PersistentVolumeClaim;
  /** The volume that the claim names. */
  readonly named: PersistentVolume | undefined;
  /** Includes all volumes reserved for the claim, and all unclaimed volumes of its class. */
  readonly candidates: readonly PersistentVolume[];
  /** The claim's class, if it exists. */
  readonly storageClass: StorageClass | undefined;
  /** Names of unscheduled pods that use the claim. */
  readonly waitingPods: readonly string[];
  /** Whether volumes are provisioned dynamically. */
  readonly provisioning: boolean;
  /** The manager's internal provisioners. */
  readonly ownProvisioners: { has(name: string): boolean };
}

export type ClaimPlan =
  | { readonly step: 'bind'; readonly volume: PersistentVolume }
  /** No volume yet: set the phase `Pending`. */
  | { readonly step: 'pending'; readonly notice?: Notice }
  /** Request a volume from an external provisioner with annotations. */
  | { readonly step: 'provision'; readonly provisioner: string; readonly notice: Notice }
  /** Provision a volume in this manager. */
  | { readonly step: 'provisionInternally'; readonly storageClass: StorageClass }
  /** No provisioner can create a volume. */
  | { readonly step: 'stuck'; readonly notice?: Notice }
  /** The volume is lost; the event is recorded once. */
  | { readonly step: 'lose'; readonly notice: Notice }
  /** An inconsistent state. */
  | { readonly step: 'fail'; readonly notice: Notice; readonly message: string };

/** Throws for a malformed selector. */
export function planClaim(observed: ClaimObservation): ClaimPlan {
  const { claim, dialect } = observed;
  if (claim.metadata.annotations?.[dialect.annotations.bindCompleted] !== undefined) return planBound(observed);
  return (claim.spec.volumeName ?? '') === '' ? planUnbound(observed) : planReserved(observed);
}

/** The claim accepts any matching volume. */
function planUnbound(observed: ClaimObservation): ClaimPlan {
  const { claim, candidates, storageClass, dialect } = observed;
  const delayed = storageClass?.volumeBindingMode === 'WaitForFirstConsumer';
  const volume = bestMatch(claim, candidates, { delayed, dialect });
  if (volume !== undefined) return { step: 'bind', volume };
  if (delayed && claim.metadata.annotations?.[dialect.annotations.selectedNode] === undefined) {
    return { step: 'pending', notice: waiting(observed.waitingPods) };
  }
  if (storageClassOf(claim, dialect) !== '') return planProvisioning(observed);
  const message = 'no persistent volumes available for this claim and no storage class is set';
  return { step: 'pending', notice: normal('FailedBinding', message) };
}

function waiting(pods: readonly string[]): Notice {
  if (pods.length === 0) {
    return normal('WaitForFirstConsumer', 'waiting for first consumer to be created before binding');
  }
  const which = `pod${pods.length > 1 ? 's' : ''} ${pods.join(',')}`;
  return normal('WaitForPodScheduled', `waiting for ${which} to be scheduled`);
}

function planProvisioning({
  claim,
  storageClass,
  provisioning,
  ownProvisioners,
  dialect,
}: ClaimObservation): ClaimPlan {
  if (!provisioning) return { step: 'stuck' };
  if (storageClass === undefined) {
    const kind = `storageclass.${dialect.groupName('storage')}`;
    const message = `${kind} "${storageClassOf(claim, dialect)}" not found`;
    return { step: 'stuck', notice: warning('ProvisioningFailed', message) };
  }
  const { provisioner } = storageClass;
  if (ownProvisioners.has(provisioner)) return { step: 'provisionInternally', storageClass };
  // Names with the product's domain belong to internal plugins, and there is none with this name.
  if (provisioner.startsWith(`${dialect.labelDomain}/`)) {
    const message = `no volume plugin matched name: ${provisioner}`;
    return { step: 'stuck', notice: warning('ProvisioningFailed', message) };
  }
  const message = `waiting for a volume to be created, either by external provisioner "${provisioner}" or manually created by system administrator`;
  return { step: 'provision', provisioner, notice: normal('ExternalProvisioning', message) };
}

/** The claim names a volume. */
function planReserved({ claim, named, dialect }: ClaimObservation): ClaimPlan {
  if (named === undefined) return { step: 'pending' };
  const { name } = named.metadata;
  const { claimRef } = named.spec;
  if (claimRef === undefined) {
    const why = mismatch(named, claim, dialect);
    if (why === undefined) return { step: 'bind', volume: named };
    return { step: 'pending', notice: warning('VolumeMismatch', `Cannot bind to requested volume "${name}": ${why}`) };
  }
  if (isBoundTo(named, claim)) return { step: 'bind', volume: named };
  const notice = warning('FailedBinding', `volume "${name}" already bound to a different claim.`);
  if (claim.metadata.annotations?.[dialect.annotations.boundByController] === undefined) {
    return { step: 'pending', notice };
  }
  const other = `${claimRef.namespace}/${claimRef.name}`;
  const message = `invalid binding of claim "${keyOf(claim)}" to volume "${name}": volume already claimed by "${other}"`;
  return { step: 'fail', notice, message };
}

/** The claim was bound before. */
function planBound({ claim, named }: ClaimObservation): ClaimPlan {
  if ((claim.spec.volumeName ?? '') === '') {
    const message = 'Bound claim has lost reference to PersistentVolume. Data on the volume is lost!';
    return { step: 'lose', notice: warning('ClaimLost', message) };
  }
  if (named === undefined) {
    const message = 'Bound claim has lost its PersistentVolume. Data on the volume is lost!';
    return { step: 'lose', notice: warning('ClaimLost', message) };
  }
  const { claimRef } = named.spec;
  if (claimRef === undefined || claimRef.uid === claim.metadata.uid) return { step: 'bind', volume: named };
  const message = 'Two claims are bound to the same volume, this one is bound incorrectly';
  return { step: 'lose', notice: warning('ClaimMisbound', message) };
}
