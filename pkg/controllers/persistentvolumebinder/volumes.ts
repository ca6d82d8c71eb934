/** Reconciles one volume. */
import { hasMode } from '#api/core/v1/persistentvolume/match.js';
import type { PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { ControllerContext } from '#controllers/framework/context.js';
import { pluginLabel } from '#controllers/framework/volume-plugins.js';
import { unboundVolume, volumeInPhase } from '#controllers/persistentvolumebinder/binding.js';
import { type BoundObjects, claimKeyOf } from '#controllers/persistentvolumebinder/bound-objects.js';
import type { OperationTimes } from '#controllers/persistentvolumebinder/metrics.js';
import { type Notice, warning } from '#controllers/persistentvolumebinder/plan-claim.js';
import type { Recycler } from '#controllers/persistentvolumebinder/recycler.js';
import type { VolumeProvisioner } from '#controllers/persistentvolumebinder/volume-provisioner.js';

export interface VolumeSyncOptions {
  readonly context: ControllerContext;
  readonly objects: BoundObjects;
  readonly times: OperationTimes;
  readonly recycler: Recycler;
  /** By plugin name. */
  readonly provisioners: ReadonlyMap<string, VolumeProvisioner>;
  /** The feature gate HonorPVReclaimPolicy. */
  readonly honorPolicy: boolean;
  /** Enqueues the claim. */
  readonly syncClaim: (key: string) => void;
  /** Enqueues the volume's name for `delete`. */
  readonly queueDeletion: (name: string) => void;
}

export class VolumeSync {
  readonly #options: VolumeSyncOptions;

  constructor(options: VolumeSyncOptions) {
    this.#options = options;
  }

  async sync(volume: PersistentVolume): Promise<void> {
    const { context, objects, syncClaim } = this.#options;
    const { dialect, events } = context;
    const claim = await this.#claimOf(volume);
    const plan = planVolume({ dialect, volume, claim });
    switch (plan.step) {
      case 'phase': {
        const saved = await objects.saveVolumeStatus(volume, volumeInPhase(volume, plan.phase));
        // Release 1.24 would bind waiting claims at its next resync.
        if (saved !== volume && plan.phase === 'Available') objects.waitingFor(saved).forEach(syncClaim);
        return;
      }
      case 'claim':
        if (claim !== undefined) syncClaim(keyOf(claim));
        return;
      case 'mismatch':
        events.record(volume, plan.ofVolume.type, plan.ofVolume.reason, plan.ofVolume.message);
        if (claim !== undefined) events.record(claim, plan.ofClaim.type, plan.ofClaim.reason, plan.ofClaim.message);
        return;
      case 'release':
        return this.#release(volume);
      case 'unbind':
        return this.#unbind(volume, dialect);
      default:
        plan satisfies never;
    }
  }

  /**
   * Reads the claim from the API server when the cache contradicts the volume's phase. Otherwise, a lagging cache would
   * release bound volumes, and two managers could undo each other's writes forever.
   */
  async #claimOf(volume: PersistentVolume): Promise<PersistentVolumeClaim | undefined> {
    const { objects } = this.#options;
    const { uid = '' } = volume.spec.claimRef ?? {};
    if (uid === '') return undefined;
    const cached = objects.claim(claimKeyOf(volume));
    const isCached = cached?.metadata.uid === uid;
    return isCached === isReleased(volume) ? objects.liveClaim(volume) : cached;
  }

  async #release(volume: PersistentVolume): Promise<void> {
    const { context, objects, times, honorPolicy, queueDeletion } = this.#options;
    const { dialect } = context;
    const { name = '' } = volume.metadata;
    const released = isReleased(volume)
      ? volume
      : await objects.saveVolumeStatus(volume, volumeInPhase(volume, 'Released'));
    if (released.spec.persistentVolumeReclaimPolicy === 'Recycle') return this.#recycle(released);
    if (released.spec.persistentVolumeReclaimPolicy === 'Delete') {
      const provisioner = released.metadata.annotations?.[dialect.annotations.provisionedBy];
      times.begin(name, provisioner ?? pluginLabel(released.spec, dialect), 'delete');
      if (this.#internalProvisioner(released) !== undefined) return queueDeletion(name);
    }
    const failure = reclaimFailure(released, dialect, honorPolicy);
    if (failure === undefined || released.status?.phase === 'Failed') return;
    times.failed(name);
    await this.#fail(released, failure);
  }

  /** Deletes a released volume of an internal provisioner, with its content. May wait for a node. */
  async delete(volume: PersistentVolume): Promise<void> {
    const { context, times } = this.#options;
    const internal = this.#internalProvisioner(volume);
    if (internal === undefined || !isReleased(volume)) return;
    if (planVolume({ dialect: context.dialect, volume, claim: await this.#claimOf(volume) }).step !== 'release') return;
    try {
      await internal.delete(volume);
    } catch (error) {
      times.failed(volume.metadata.name ?? '');
      if (volume.status?.phase !== 'Failed') await this.#fail(volume, warning('VolumeFailedDelete', messageOf(error)));
    }
  }

  /** The internal provisioner that must delete the volume. */
  #internalProvisioner({ metadata, spec }: PersistentVolume): VolumeProvisioner | undefined {
    const { context, provisioners, honorPolicy } = this.#options;
    if (spec.persistentVolumeReclaimPolicy !== 'Delete') return undefined;
    if (metadata.deletionTimestamp !== undefined && !honorPolicy) return undefined;
    return provisioners.get(metadata.annotations?.[context.dialect.annotations.provisionedBy] ?? '');
  }

  async #recycle(volume: PersistentVolume): Promise<void> {
    const { context, objects, recycler } = this.#options;
    const { dialect, events } = context;
    const recycling = await recycler.recycle(volume, objects.claim(claimKeyOf(volume)) !== undefined);
    switch (recycling.kind) {
      case 'running':
        return;
      case 'used':
        events.record(volume, 'Normal', 'VolumeFailedRecycle', `Volume is used by pods: ${recycling.pods.join(',')}`);
        return;
      case 'failed':
        if (volume.status?.phase !== 'Failed')
          await this.#fail(volume, warning('VolumeFailedRecycle', recycling.message));
        return;
      case 'done':
        events.record(volume, 'Normal', 'VolumeRecycled', 'Volume recycled');
        return this.#unbind(volume, dialect);
      default:
        recycling satisfies never;
    }
  }

  async #unbind(volume: PersistentVolume, dialect: Dialect): Promise<void> {
    const { objects } = this.#options;
    const unbound = await objects.saveVolume(volume, unboundVolume(volume, dialect));
    await objects.saveVolumeStatus(unbound, volumeInPhase(unbound, 'Available'));
  }

  async #fail(volume: PersistentVolume, failure: Notice): Promise<void> {
    const { context, objects } = this.#options;
    await objects.saveVolumeStatus(volume, volumeInPhase(volume, 'Failed', failure.message));
    context.events.record(volume, failure.type, failure.reason, failure.message);
  }
}

/** Failed volumes count, because they were released before. */
function isReleased({ status }: PersistentVolume): boolean {
  return status?.phase === 'Released' || status?.phase === 'Failed';
}

interface VolumeObservation {
  readonly dialect: Dialect;
  readonly volume: PersistentVolume;
  /** The claim with the name in the volume's reference; its UID may differ. */
  readonly claim: PersistentVolumeClaim | undefined;
}

export type VolumePlan =
  | { readonly step: 'phase'; readonly phase: 'Available' | 'Bound' }
  /** Reconcile the claim. */
  | { readonly step: 'claim' }
  /** The claim can never be bound to the volume. */
  | { readonly step: 'mismatch'; readonly ofVolume: Notice; readonly ofClaim: Notice }
  /** The claim is deleted or has another volume. */
  | { readonly step: 'release' }
  /** The claim has another volume, so this volume becomes available. */
  | { readonly step: 'unbind' };

/** Plans the next step of a volume. Rules of release 1.24 (pkg/controller/volume/persistentvolume). Pure. */
export function planVolume({ volume, claim, dialect }: VolumeObservation): VolumePlan {
  const { claimRef } = volume.spec;
  if (claimRef === undefined || (claimRef.uid ?? '') === '') return { step: 'phase', phase: 'Available' };
  if (claim === undefined || claim.metadata.uid !== claimRef.uid) return { step: 'release' };
  const { volumeName = '' } = claim.spec;
  if (volumeName === volume.metadata.name) return { step: 'phase', phase: 'Bound' };
  if (volumeName !== '') {
    const provisioned = volume.metadata.annotations?.[dialect.annotations.provisionedBy] !== undefined;
    return { step: provisioned && volume.spec.persistentVolumeReclaimPolicy === 'Delete' ? 'release' : 'unbind' };
  }
  if (hasMode(volume, claim)) return { step: 'claim' };
  const why = 'due to incompatible volumeMode.';
  return {
    step: 'mismatch',
    ofVolume: warning(
      'VolumeMismatch',
      `Cannot bind PersistentVolume to requested PersistentVolumeClaim "${claim.metadata.name}" ${why}`,
    ),
    ofClaim: warning(
      'VolumeMismatch',
      `Cannot bind PersistentVolume "${volume.metadata.name}" to requested PersistentVolumeClaim ${why}`,
    ),
  };
}

/**
 * Why a released volume cannot be reclaimed; undefined when it is retained, recycled, or left to an external
 * provisioner. `honorPolicy`: also for volumes that are being deleted.
 */
export function reclaimFailure(volume: PersistentVolume, dialect: Dialect, honorPolicy: boolean): Notice | undefined {
  const { metadata, spec } = volume;
  switch (spec.persistentVolumeReclaimPolicy) {
    case 'Retain':
    case 'Recycle':
      return undefined;
    case 'Delete': {
      if (metadata.deletionTimestamp !== undefined && !honorPolicy) return undefined;
      const deleter = metadata.annotations?.[dialect.annotations.provisionedBy] ?? '';
      if (deleter === '') {
        const why = 'no deletable volume plugin matched';
        return warning(
          'VolumeFailedDelete',
          `error getting deleter volume plugin for volume "${metadata.name}": ${why}`,
        );
      }
      if (!deleter.startsWith(`${dialect.labelDomain}/`)) return undefined;
      return warning('VolumeFailedDelete', `no volume plugin matched name: ${deleter}`);
    }
    default:
      return warning('VolumeUnknownReclaimPolicy', 'Volume has unrecognized PersistentVolumeReclaimPolicy');
  }
}
