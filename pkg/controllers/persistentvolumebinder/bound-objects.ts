/** Reads and writes claims and volumes; reads include this controller's own writes. */
import { mismatch } from '#api/core/v1/persistentvolume/match.js';
import { persistentvolumeclaims, persistentvolumes } from '#api/core/v1/resources.gen.js';
import type { PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/types.gen.js';
import { storageClassOf } from '#api/core/v1/volume/storage-class.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import { keyFor, keyOf } from '#apimachinery/object-key.js';
import type { Informer } from '#client/informer/informer.js';
import type { ControllerContext } from '#controllers/framework/context.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import { LatestObjects } from '#controllers/framework/latest-objects.js';

/** Index of unclaimed volumes by class. */
const freeIndex = 'unclaimedOfClass';
/** Index of claims without a volume by class. */
const waitingIndex = 'waitingOfClass';
/** Index of volumes by the key of their claim. */
const claimRefIndex = 'claimRef';

/**
 * All writes carry the version that was read. When two managers, or one with a lagging cache, bind two claims to one
 * volume, the second write fails with a conflict.
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

  /** Volumes that name the claim and unclaimed volumes of its class, perhaps with some others. */
  candidates(claim: PersistentVolumeClaim): PersistentVolume[] {
    const reserved = this.#volumes.byIndex(claimRefIndex, keyOf(claim));
    const free = this.#volumes.byIndex(freeIndex, storageClassOf(claim, this.#context.dialect));
    return [...new Set([...reserved, ...free])];
  }

  /** Keys of claims to which an available volume can be bound: the claim that it names, or matching claims. */
  waitingFor(volume: PersistentVolume): string[] {
    if (volume.spec.claimRef !== undefined) return [claimKeyOf(volume)];
    const { dialect } = this.#context;
    const waiting = this.#claims.byIndex(waitingIndex, storageClassOf(volume, dialect));
    return waiting.filter((claim) => mismatch(volume, claim, dialect) === undefined).map(keyOf);
  }

  /** Reads the volume's claim from the API server. */
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

  /** Writes `changed` unless it is the same object as `old`, and returns the stored version. */
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

/** The key of the claim that the volume names. */
export function claimKeyOf({ spec }: PersistentVolume): string {
  return keyFor(spec.claimRef?.namespace, spec.claimRef?.name ?? '');
}
