/** One pass over a claim: observes, plans and does it. */
import { boundVolume } from '#api/core/v1/persistentvolume/binding.js';
import { isPodTerminal } from '#api/core/v1/pod/conditions.js';
import type { PersistentVolume, PersistentVolumeClaim, Pod } from '#api/core/v1/types.gen.js';
import { storageClassOf } from '#api/core/v1/volume/storage-class.js';
import type { StorageClass } from '#api/storage/v1/types.gen.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { isConflict } from '#apimachinery/errors/status.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { ApiObject } from '#client/client.js';
import type { Informer } from '#client/informer/informer.js';
import type { ControllerContext } from '#controllers/framework/context.js';
import { podsOfClaim } from '#controllers/framework/informers.js';
import {
  boundClaim,
  claimBoundTo,
  claimInPhase,
  provisioningClaim,
  unselectedClaim,
  volumeInPhase,
} from '#controllers/persistentvolumebinder/binding.js';
import type { OperationTimes } from '#controllers/persistentvolumebinder/metrics.js';
import { type Notice, normal, warning } from '#controllers/persistentvolumebinder/notice.js';
import type { BoundObjects } from '#controllers/persistentvolumebinder/objects.js';
import { type ClaimObservation, type ClaimPlan, planClaim } from '#controllers/persistentvolumebinder/plan-claim.js';
import { VolumeElsewhereError, type VolumeMaker } from '#controllers/persistentvolumebinder/volume-maker.js';

export interface ClaimSyncOptions {
  readonly context: ControllerContext;
  readonly objects: BoundObjects;
  readonly classes: Informer<StorageClass>;
  /** Indexed by claims. */
  readonly pods: Informer<Pod>;
  readonly times: OperationTimes;
  /** Whether volumes are made for claims. */
  readonly provisioning: boolean;
  /** By the names of their plugins. */
  readonly makers: ReadonlyMap<string, VolumeMaker>;
  /** Has `make` called with the claim of that key. */
  readonly makeLater: (key: string) => void;
}

export class ClaimSync {
  readonly #options: ClaimSyncOptions;

  constructor(options: ClaimSyncOptions) {
    this.#options = options;
  }

  async sync(claim: PersistentVolumeClaim): Promise<void> {
    const { objects, makeLater } = this.#options;
    const plan = await this.#plan(this.#observe(claim));
    switch (plan.step) {
      case 'bind':
        return this.#bind(claim, plan.volume);
      case 'pending':
        this.#tell(claim, plan.notice);
        await objects.saveClaimStatus(claim, claimInPhase(claim, 'Pending'));
        return;
      case 'provision':
        return this.#provision(claim, plan.provisioner, plan.notice);
      case 'make':
        return makeLater(keyOf(claim));
      case 'stuck':
        this.#tell(claim, plan.notice);
        return;
      case 'lose':
        if (claim.status?.phase === 'Lost') return;
        await objects.saveClaimStatus(claim, claimInPhase(claim, 'Lost'));
        this.#tell(claim, plan.notice);
        return;
      case 'fail':
        this.#tell(claim, plan.notice);
        throw new Error(plan.message);
      default:
        plan satisfies never;
    }
  }

  /** Makes the claim's volume, where the manager is to make it. It may wait for a node. */
  async make(claim: PersistentVolumeClaim): Promise<void> {
    const plan = await this.#plan(this.#observe(claim));
    if (plan.step === 'make') await this.#make(claim, plan.storageClass);
  }

  #observe(claim: PersistentVolumeClaim): ClaimObservation {
    const { context, objects, classes, provisioning, makers } = this.#options;
    const { dialect } = context;
    return {
      dialect,
      claim,
      named: objects.volume(claim.spec.volumeName ?? ''),
      candidates: objects.candidates(claim),
      storageClass: classes.get(storageClassOf(claim, dialect)),
      waitingPods: this.#waitingPods(claim),
      provisioning,
      ownProvisioners: makers,
    };
  }

  /**
   * The cache of volumes may lag behind: that a claim has lost its volume, or has it again, is believed only when the API
   * server says so.
   */
  async #plan(observed: ClaimObservation): Promise<ClaimPlan> {
    const plan = planClaim(observed);
    const { spec, status } = observed.claim;
    const name = spec.volumeName ?? '';
    if (name === '' || (plan.step === 'lose') === (status?.phase === 'Lost')) return plan;
    return planClaim({ ...observed, named: await this.#options.objects.liveVolume(name) });
  }

  #waitingPods(claim: PersistentVolumeClaim): string[] {
    return podsOfClaim(this.#options.pods, keyOf(claim))
      .filter((pod) => !isPodTerminal(pod) && (pod.spec.nodeName ?? '') === '')
      .map(({ metadata }) => metadata.name ?? '');
  }

  /** The volume first: it can have one claim only, so that whoever writes it has won. */
  async #bind(claim: PersistentVolumeClaim, volume: PersistentVolume): Promise<void> {
    const { objects, context, times } = this.#options;
    const { dialect } = context;
    try {
      const claimed = await objects.saveVolume(volume, boundVolume(volume, claim, dialect));
      const bound = await objects.saveVolumeStatus(claimed, volumeInPhase(claimed, 'Bound'));
      const named = await objects.saveClaim(claim, boundClaim(claim, bound, dialect));
      await objects.saveClaimStatus(named, claimBoundTo(named, bound));
    } catch (error) {
      times.failed(keyOf(claim));
      throw error;
    }
    times.done(keyOf(claim));
  }

  async #provision(claim: PersistentVolumeClaim, provisioner: string, notice: Notice): Promise<void> {
    const { objects, context, times } = this.#options;
    times.begin(keyOf(claim), provisioner, 'provision');
    try {
      await objects.saveClaim(claim, provisioningClaim(claim, provisioner, context.dialect));
    } catch (error) {
      times.failed(keyOf(claim));
      throw error;
    }
    this.#tell(claim, notice);
  }

  async #make(claim: PersistentVolumeClaim, storageClass: StorageClass): Promise<void> {
    const { objects, context, times, makers } = this.#options;
    const { dialect } = context;
    const { provisioner: plugin } = storageClass;
    times.begin(keyOf(claim), plugin, 'provision');
    try {
      const told = await objects.saveClaim(claim, provisioningClaim(claim, plugin, dialect));
      const volume = await makers.get(plugin)?.make(told, storageClass);
      const message = `Successfully provisioned volume ${volume?.metadata.name} using ${plugin}`;
      this.#tell(claim, normal('ProvisioningSucceeded', message));
    } catch (error) {
      times.failed(keyOf(claim));
      const which = `Failed to provision volume with StorageClass "${storageClass.metadata.name}"`;
      if (!isConflict(error)) this.#tell(claim, warning('ProvisioningFailed', `${which}: ${messageOf(error)}`));
      if (!(error instanceof VolumeElsewhereError)) throw error;
      const latest = objects.claim(keyOf(claim)) ?? claim;
      await objects.saveClaim(latest, unselectedClaim(latest, dialect));
    }
  }

  #tell(object: ApiObject, notice: Notice | undefined): void {
    if (notice !== undefined) this.#options.context.events.record(object, notice.type, notice.reason, notice.message);
  }
}
