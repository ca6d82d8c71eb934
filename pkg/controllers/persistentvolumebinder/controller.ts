/** Binds claims to volumes, provisions volumes for claims, and reclaims released volumes. */
import { pods as podType } from '#api/core/v1/resources.gen.js';
import { storageclasses } from '#api/storage/v1/resources.gen.js';
import { keyOf } from '#apimachinery/object-key.js';
import { done, type Outcome } from '#client/workqueue/outcome.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { indexByClaim, sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';
import { BoundObjects, claimKeyOf } from '#controllers/persistentvolumebinder/bound-objects.js';
import { ClaimSync } from '#controllers/persistentvolumebinder/claims.js';
import { type HostDirectories, HostPathVolumes } from '#controllers/persistentvolumebinder/host-path.js';
import { LocalDirectoryVolumes } from '#controllers/persistentvolumebinder/local-directory.js';
import { OperationTimes, registerCounts } from '#controllers/persistentvolumebinder/metrics.js';
import { Recycler } from '#controllers/persistentvolumebinder/recycler.js';
import type { Recyclers } from '#controllers/persistentvolumebinder/recycling.js';
import type { VolumeProvisioner } from '#controllers/persistentvolumebinder/volume-provisioner.js';
import { VolumeSync } from '#controllers/persistentvolumebinder/volumes.js';

/** As in 1.24: concurrent claims could choose the same volume. */
const concurrency = 1;
/** The concurrency of provisioning and of deletion, which wait for nodes. */
const nodeConcurrency = 16;

export interface PersistentVolumeBinderOptions {
  /** `--pvclaimbinder-sync-period`: the resync interval; 0: no resync. */
  readonly syncPeriodMs: number;
  /** `--enable-dynamic-provisioning`. */
  readonly provisioning: boolean;
  /** The feature gate HonorPVReclaimPolicy. */
  readonly honorPolicy: boolean;
  readonly recyclers: Recyclers;
  /** Set with `--enable-hostpath-provisioner`. */
  readonly hostDirectories?: HostDirectories;
}

export class PersistentVolumeBinder implements Controller {
  readonly name = 'persistentvolume-binder';
  readonly #context: ControllerContext;
  readonly #syncPeriodMs: number;
  readonly #objects: BoundObjects;
  readonly #times: OperationTimes;
  readonly #recycler: Recycler;
  readonly #claims: ReconcileLoop;
  readonly #volumes: ReconcileLoop;
  /** Keys of claims. */
  readonly #provisions: ReconcileLoop;
  /** Names of volumes. */
  readonly #deletes: ReconcileLoop;

  constructor(context: ControllerContext, options: PersistentVolumeBinderOptions) {
    const { informers, metrics, clock } = context;
    this.#context = context;
    this.#syncPeriodMs = options.syncPeriodMs;
    const objects = new BoundObjects(context);
    const times = new OperationTimes(metrics, clock);
    const pods = sharedInformer(informers, podType);
    indexByClaim(pods);
    const classes = sharedInformer(informers, storageclasses);
    const { provisioning, hostDirectories } = options;
    const internalProvisioners: readonly VolumeProvisioner[] = [
      new LocalDirectoryVolumes(context.client),
      ...(hostDirectories === undefined ? [] : [new HostPathVolumes(context.client, hostDirectories)]),
    ];
    const provisioners = new Map(internalProvisioners.map((provisioner) => [provisioner.plugin, provisioner]));
    const claims = new ClaimSync({
      ...{ context, objects, classes, pods, times, provisioning, provisioners },
      queueProvisioning: (key) => this.#provisions.queue.add(key),
    });
    this.#recycler = new Recycler({ client: context.client, pods, recyclers: options.recyclers });
    const volumes = new VolumeSync({
      context,
      objects,
      times,
      recycler: this.#recycler,
      provisioners,
      honorPolicy: options.honorPolicy,
      syncClaim: (key) => this.#claims.queue.add(key),
      queueDeletion: (name) => this.#deletes.queue.add(name),
    });
    this.#objects = objects;
    this.#times = times;
    const loop = (name: string, reconcile: (key: string) => Promise<Outcome>, atOnce = concurrency) =>
      new ReconcileLoop(context, { name, concurrency: atOnce, reconcile });
    this.#claims = loop('claims', async (key) => {
      const claim = objects.claim(key);
      if (claim !== undefined) await claims.sync(claim);
      return done;
    });
    this.#volumes = loop('volumes', async (key) => {
      const volume = objects.volume(key);
      if (volume === undefined) await this.#recycler.abandon(key);
      else await volumes.sync(volume);
      return done;
    });
    const provision = async (key: string) => {
      const claim = objects.claim(key);
      if (claim !== undefined) await claims.provisionInternally(claim);
      return done;
    };
    this.#provisions = loop('provisions', provision, nodeConcurrency);
    const remove = async (key: string) => {
      const volume = objects.volume(key);
      if (volume !== undefined) await volumes.delete(volume);
      return done;
    };
    this.#deletes = loop('deletes', remove, nodeConcurrency);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { metrics, dialect } = this.#context;
    const { volumeCache, claimCache } = this.#objects;
    const addClaim = (key: string) => this.#claims.queue.add(key);
    const addVolume = (key: string) => this.#volumes.queue.add(key);
    const resync = { resyncMs: this.#syncPeriodMs };
    const watches = [
      claimCache.addHandler(
        {
          onAdd: (claim) => addClaim(keyOf(claim)),
          onUpdate: (claim) => addClaim(keyOf(claim)),
          onDelete: (claim) => {
            this.#times.forget(keyOf(claim));
            if ((claim.spec.volumeName ?? '') !== '') addVolume(claim.spec.volumeName ?? '');
          },
        },
        resync,
      ),
      volumeCache.addHandler(
        {
          onAdd: (volume) => addVolume(keyOf(volume)),
          onUpdate: (volume) => addVolume(keyOf(volume)),
          onDelete: (volume) => {
            this.#times.done(keyOf(volume));
            addVolume(keyOf(volume));
            if (volume.spec.claimRef !== undefined) addClaim(claimKeyOf(volume));
          },
        },
        resync,
      ),
      this.#recycler.watch(addVolume),
      registerCounts(metrics, { volumes: volumeCache, claims: claimCache }, dialect),
    ];
    await Promise.all([
      this.#claims.run(signal, watches),
      ...[this.#volumes, this.#provisions, this.#deletes].map((loop) => loop.run(signal)),
    ]);
  }
}
