/** The claims and volumes as they are after this controller's own writes, and those writes. */
import { mismatch } from '#api/core/v1/persistentvolume/match.js';
import { persistentvolumeclaims, persistentvolumes } from '#api/core/v1/resources.gen.js';
import type { PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/types.gen.js';
import { storageClassOf } from '#api/core/v1/volume/storage-class.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import { keyFor, keyOf } from '#apimachinery/object-key.js';
import type { Informer } from '#client/informer/informer.js';
import type { ControllerContext } from '#controllers/framework/context.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import { LatestObjects } from '#controllers/framework/latest.js';

/** Index of unclaimed volumes by their class. */
const freeIndex = 'unclaimedOfClass';
/** Index of claims without a volume by their class. */
const waitingIndex = 'waitingOfClass';
/** Index of volumes by the key of the claim that they name. */
const claimRefIndex = 'claimRef';

/**
 * All writes name the version that they were decided on, so that two managers, or one that lags, never bind two claims
 * to a volume: the second write fails with a conflict.
 */
export class BoundObjects {
  readonly volumeCache: Informer<PersistentVolume>;
  readonly claimCache: Informer<PersistentVolumeClaim>;
  readonly #context: ControllerContext;
  readonly #volumes: LatestObjects<PersistentVolume>;
  readonly #claims: LatestObjects<PersistentVolumeClaim>;

  constructor(context: ControllerContext) {
    const { informers, clock, dialect } = context;
    this.#context = context;
    this.volumeCache = sharedInformer(informers, persistentvolumes);
    this.claimCache = sharedInformer(informers, persistentvolumeclaims);
    this.volumeCache.addIndexers({
      [freeIndex]: (volume) => (volume.spec.claimRef === undefined ? [storageClassOf(volume, dialect)] : []),
      [claimRefIndex]: (volume) => (volume.spec.claimRef === undefined ? [] : [claimKeyOf(volume)]),
    });
    this.claimCache.addIndexers({
      [waitingIndex]: (claim) => ((claim.spec.volumeName ?? '') === '' ? [storageClassOf(claim, dialect)] : []),
    });
    this.#volumes = new LatestObjects(this.volumeCache, clock);
    this.#claims = new LatestObjects(this.claimCache, clock);
  }

  volume(name: string): PersistentVolume | undefined {
    return this.#volumes.get(name);
  }

  claim(key: string): PersistentVolumeClaim | undefined {
    return this.#claims.get(key);
  }

  /** All volumes that name the claim, all unclaimed ones of its class, and maybe some others. */
  candidates(claim: PersistentVolumeClaim): PersistentVolume[] {
    const reserved = this.#volumes.byIndex(claimRefIndex, keyOf(claim));
    const free = this.#volumes.byIndex(freeIndex, storageClassOf(claim, this.#context.dialect));
    return [...new Set([...reserved, ...free])];
  }

  /** Keys of the claims that the volume, which is available, may be bound to: the one that it names, or those that it suits. */
  waitingFor(volume: PersistentVolume): string[] {
    if (volume.spec.claimRef !== undefined) return [claimKeyOf(volume)];
    const { dialect } = this.#context;
    const waiting = this.#claims.byIndex(waitingIndex, storageClassOf(volume, dialect));
    return waiting.filter((claim) => mismatch(volume, claim, dialect) === undefined).map(keyOf);
  }

  /** As the API server knows it. */
  async liveClaim(volume: PersistentVolume): Promise<PersistentVolumeClaim | undefined> {
    const { name = '', namespace = '' } = volume.spec.claimRef ?? {};
    try {
      return await this.#context.client.resource(persistentvolumeclaims).get(name, { namespace });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async liveVolume(name: string): Promise<PersistentVolume | undefined> {
    try {
      return await this.#context.client.resource(persistentvolumes).get(name);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** `changed` instead of `old`; nothing is written where they are the same object. Gives back what is stored then. */
  async saveVolume(old: PersistentVolume, changed: PersistentVolume): Promise<PersistentVolume> {
    if (changed === old) return old;
    return this.#volumes.wrote(await this.#context.client.resource(persistentvolumes).update(changed));
  }

  async saveVolumeStatus(old: PersistentVolume, changed: PersistentVolume): Promise<PersistentVolume> {
    if (changed === old) return old;
    return this.#volumes.wrote(await this.#context.client.resource(persistentvolumes).updateStatus(changed));
  }

  async saveClaim(old: PersistentVolumeClaim, changed: PersistentVolumeClaim): Promise<PersistentVolumeClaim> {
    if (changed === old) return old;
    return this.#claims.wrote(await this.#context.client.resource(persistentvolumeclaims).update(changed));
  }

  async saveClaimStatus(old: PersistentVolumeClaim, changed: PersistentVolumeClaim): Promise<PersistentVolumeClaim> {
    if (changed === old) return old;
    return this.#claims.wrote(await this.#context.client.resource(persistentvolumeclaims).updateStatus(changed));
  }
}

/** Key of the claim that the volume names. */
export function claimKeyOf({ spec }: PersistentVolume): string {
  return keyFor(spec.claimRef?.namespace, spec.claimRef?.name ?? '');
}
