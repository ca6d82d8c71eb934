/** One pass over a volume: observes, plans and does it. */
import { hasMode } from '#api/core/v1/persistentvolume/match.js';
import type { PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { ControllerContext } from '#controllers/framework/context.js';
import { pluginLabel } from '#controllers/framework/volume-plugins.js';
import { unboundVolume, volumeInPhase } from '#controllers/persistentvolumebinder/binding.js';
import type { OperationTimes } from '#controllers/persistentvolumebinder/metrics.js';
import { type Notice, warning } from '#controllers/persistentvolumebinder/notice.js';
import { type BoundObjects, claimKeyOf } from '#controllers/persistentvolumebinder/objects.js';
import type { Recycler } from '#controllers/persistentvolumebinder/recycler.js';
import type { VolumeMaker } from '#controllers/persistentvolumebinder/volume-maker.js';

export interface VolumeSyncOptions {
  readonly context: ControllerContext;
  readonly objects: BoundObjects;
  readonly times: OperationTimes;
  readonly recycler: Recycler;
  /** By the names of their plugins. */
  readonly makers: ReadonlyMap<string, VolumeMaker>;
  /** The gate HonorPVReclaimPolicy. */
  readonly honorPolicy: boolean;
  /** Has a claim seen to. */
  readonly syncClaim: (key: string) => void;
  /** Has `delete` called with the volume of that name. */
  readonly deleteLater: (name: string) => void;
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
        // Release 1.24 leaves the claims that wait to its next look at all of them.
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
   * The cache may lag behind: where it contradicts the volume's phase, the API server is asked. It would release volumes
   * whose claims are there, and two managers could go on for ever to mend what the other has written.
   */
  async #claimOf(volume: PersistentVolume): Promise<PersistentVolumeClaim | undefined> {
    const { objects } = this.#options;
    const { uid = '' } = volume.spec.claimRef ?? {};
    if (uid === '') return undefined;
    const cached = objects.claim(claimKeyOf(volume));
    const isThere = cached?.metadata.uid === uid;
    return isThere === isReleased(volume) ? objects.liveClaim(volume) : cached;
  }

  async #release(volume: PersistentVolume): Promise<void> {
    const { context, objects, times, honorPolicy, deleteLater } = this.#options;
    const { dialect } = context;
    const { name = '' } = volume.metadata;
    const released = isReleased(volume)
      ? volume
      : await objects.saveVolumeStatus(volume, volumeInPhase(volume, 'Released'));
    if (released.spec.persistentVolumeReclaimPolicy === 'Recycle') return this.#recycle(released);
    if (released.spec.persistentVolumeReclaimPolicy === 'Delete') {
      const provisioner = released.metadata.annotations?.[dialect.annotations.provisionedBy];
      times.begin(name, provisioner ?? pluginLabel(released.spec, dialect), 'delete');
      if (this.#makerOf(released) !== undefined) return deleteLater(name);
    }
    const failure = reclaimFailure(released, dialect, honorPolicy);
    if (failure === undefined || released.status?.phase === 'Failed') return;
    times.failed(name);
    await this.#fail(released, failure);
  }

  /** Deletes a released volume that the manager has made, with what is in it. It may wait for a node. */
  async delete(volume: PersistentVolume): Promise<void> {
    const { context, times } = this.#options;
    const maker = this.#makerOf(volume);
    if (maker === undefined || !isReleased(volume)) return;
    if (planVolume({ dialect: context.dialect, volume, claim: await this.#claimOf(volume) }).step !== 'release') return;
    try {
      await maker.delete(volume);
    } catch (error) {
      times.failed(volume.metadata.name ?? '');
      if (volume.status?.phase !== 'Failed') await this.#fail(volume, warning('VolumeFailedDelete', messageOf(error)));
    }
  }

  /** Who is to delete the volume, among those that make volumes within the manager. */
  #makerOf({ metadata, spec }: PersistentVolume): VolumeMaker | undefined {
    const { context, makers, honorPolicy } = this.#options;
    if (spec.persistentVolumeReclaimPolicy !== 'Delete') return undefined;
    if (metadata.deletionTimestamp !== undefined && !honorPolicy) return undefined;
    return makers.get(metadata.annotations?.[context.dialect.annotations.provisionedBy] ?? '');
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

/** Failed ones have been released before. */
function isReleased({ status }: PersistentVolume): boolean {
  return status?.phase === 'Released' || status?.phase === 'Failed';
}

interface VolumeObservation {
  readonly dialect: Dialect;
  readonly volume: PersistentVolume;
  /** The claim that the volume names, whether or not it is still the same one. */
  readonly claim: PersistentVolumeClaim | undefined;
}

export type VolumePlan =
  | { readonly step: 'phase'; readonly phase: 'Available' | 'Bound' }
  /** The claim has to be seen to. */
  | { readonly step: 'claim' }
  /** The claim can never be bound to it. */
  | { readonly step: 'mismatch'; readonly ofVolume: Notice; readonly ofClaim: Notice }
  /** The claim is gone, or has another volume. */
  | { readonly step: 'release' }
  /** The claim has another volume: this one is free again. */
  | { readonly step: 'unbind' };

/** What is to be done about a volume. The decisions of release 1.24 (pkg/controller/volume/persistentvolume). Pure. */
export function planVolume({ volume, claim, dialect }: VolumeObservation): VolumePlan {
  const { claimRef } = volume.spec;
  if (claimRef === undefined || (claimRef.uid ?? '') === '') return { step: 'phase', phase: 'Available' };
  if (claim === undefined || claim.metadata.uid !== claimRef.uid) return { step: 'release' };
  const { volumeName = '' } = claim.spec;
  if (volumeName === volume.metadata.name) return { step: 'phase', phase: 'Bound' };
  if (volumeName !== '') {
    const made = volume.metadata.annotations?.[dialect.annotations.provisionedBy] !== undefined;
    return { step: made && volume.spec.persistentVolumeReclaimPolicy === 'Delete' ? 'release' : 'unbind' };
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
 * Why a released volume cannot be dealt with as its policy says; undefined when it is kept, or left to an external
 * provisioner. `honorPolicy`: volumes that are being deleted, too.
 */
export function reclaimFailure(volume: PersistentVolume, dialect: Dialect, honorPolicy: boolean): Notice | undefined {
  const { metadata, spec } = volume;
  switch (spec.persistentVolumeReclaimPolicy) {
    case 'Retain':
    // Pods empty it.
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
