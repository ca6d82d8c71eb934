/** What is to be done about a claim. The decisions of release 1.24 (pkg/controller/volume/persistentvolume). Pure. */

import { bestMatch, isBoundTo, mismatch } from '#api/core/v1/persistentvolume/match.js';
import type { PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/types.gen.js';
import { storageClassOf } from '#api/core/v1/volume/storage-class.js';
import type { StorageClass } from '#api/storage/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { keyOf } from '#apimachinery/object-key.js';
import { type Notice, normal, warning } from '#controllers/persistentvolumebinder/notice.js';

export interface ClaimObservation {
  readonly dialect: Dialect;
  readonly claim: PersistentVolumeClaim;
  /** The volume that the claim names. */
  readonly named: PersistentVolume | undefined;
  /** At least those reserved for the claim, and the unclaimed ones of its class. */
  readonly candidates: readonly PersistentVolume[];
  /** The class that the claim names, if there is one. */
  readonly storageClass: StorageClass | undefined;
  /** Names of the pods that use the claim and are bound to no node yet. */
  readonly waitingPods: readonly string[];
  /** Whether volumes are made for claims at all. */
  readonly provisioning: boolean;
  /** Provisioners that the manager itself is. */
  readonly ownProvisioners: { has(name: string): boolean };
}

export type ClaimPlan =
  | { readonly step: 'bind'; readonly volume: PersistentVolume }
  /** No volume yet: its status says so. */
  | { readonly step: 'pending'; readonly notice?: Notice }
  /** Somebody else makes a volume: it is told so by annotations. */
  | { readonly step: 'provision'; readonly provisioner: string; readonly notice: Notice }
  /** The manager itself makes a volume. */
  | { readonly step: 'make'; readonly storageClass: StorageClass }
  /** Nobody can make a volume. */
  | { readonly step: 'stuck'; readonly notice?: Notice }
  /** Its volume is gone for good; told once. */
  | { readonly step: 'lose'; readonly notice: Notice }
  /** A state that should not be. */
  | { readonly step: 'fail'; readonly notice: Notice; readonly message: string };

/** Throws for a selector that is none. */
export function planClaim(observed: ClaimObservation): ClaimPlan {
  const { claim, dialect } = observed;
  if (claim.metadata.annotations?.[dialect.annotations.bindCompleted] !== undefined) return planBound(observed);
  return (claim.spec.volumeName ?? '') === '' ? planUnbound(observed) : planReserved(observed);
}

/** Any volume will do. */
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
  if (ownProvisioners.has(provisioner)) return { step: 'make', storageClass };
  // Names with the product's domain are those of plugins within the manager, of which there is no other.
  if (provisioner.startsWith(`${dialect.labelDomain}/`)) {
    const message = `no volume plugin matched name: ${provisioner}`;
    return { step: 'stuck', notice: warning('ProvisioningFailed', message) };
  }
  const message = `waiting for a volume to be created, either by external provisioner "${provisioner}" or manually created by system administrator`;
  return { step: 'provision', provisioner, notice: normal('ExternalProvisioning', message) };
}

/** A certain volume is asked for. */
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

/** It was bound once. */
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
