/** Reconciles one claim. */
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
import type { BoundObjects } from '#controllers/persistentvolumebinder/bound-objects.js';
import type { OperationTimes } from '#controllers/persistentvolumebinder/metrics.js';
import {
  type ClaimObservation,
  type ClaimPlan,
  type Notice,
  normal,
  planClaim,
  warning,
} from '#controllers/persistentvolumebinder/plan-claim.js';
import {
  VolumeElsewhereError,
  type VolumeProvisioner,
} from '#controllers/persistentvolumebinder/volume-provisioner.js';

export interface ClaimSyncOptions {
  readonly context: ControllerContext;
  readonly objects: BoundObjects;
  readonly classes: Informer<StorageClass>;
  /** Indexed by claim. */
  readonly pods: Informer<Pod>;
  readonly times: OperationTimes;
  /** Whether volumes are provisioned dynamically. */
  readonly provisioning: boolean;
  /** By plugin name. */
  readonly provisioners: ReadonlyMap<string, VolumeProvisioner>;
  /** Enqueues the claim's key for `provisionInternally`. */
  readonly queueProvisioning: (key: string) => void;
}

export class ClaimSync {
  readonly #options: ClaimSyncOptions;

  constructor(options: ClaimSyncOptions) {
    this.#options = options;
  }

  async sync(claim: PersistentVolumeClaim): Promise<void> {
    const { objects, queueProvisioning } = this.#options;
    const plan = await this.#plan(this.#observe(claim));
    switch (plan.step) {
      case 'bind':
        return this.#bind(claim, plan.volume);
      case 'pending':
        this.#record(claim, plan.notice);
        await objects.saveClaimStatus(claim, claimInPhase(claim, 'Pending'));
        return;
      case 'provision':
        return this.#provision(claim, plan.provisioner, plan.notice);
      case 'provisionInternally':
        return queueProvisioning(keyOf(claim));
      case 'stuck':
        this.#record(claim, plan.notice);
        return;
      case 'lose':
        if (claim.status?.phase === 'Lost') return;
        await objects.saveClaimStatus(claim, claimInPhase(claim, 'Lost'));
        this.#record(claim, plan.notice);
        return;
      case 'fail':
        this.#record(claim, plan.notice);
        throw new Error(plan.message);
      default:
        plan satisfies never;
    }
  }

  /** Provisions the claim's volume if this manager is its provisioner. May wait for a node. */
  async provisionInternally(claim: PersistentVolumeClaim): Promise<void> {
    const plan = await this.#plan(this.#observe(claim));
    if (plan.step === 'provisionInternally') await this.#runProvisioner(claim, plan.storageClass);
  }

  #observe(claim: PersistentVolumeClaim): ClaimObservation {
    const { context, objects, classes, provisioning, provisioners } = this.#options;
    const { dialect } = context;
    return {
      dialect,
      claim,
      named: objects.volume(claim.spec.volumeName ?? ''),
      candidates: objects.candidates(claim),
      storageClass: classes.get(storageClassOf(claim, dialect)),
      waitingPods: this.#waitingPods(claim),
      provisioning,
      ownProvisioners: provisioners,
    };
  }

  /**
   * Because the volume cache may lag behind, the loss or return of a claim's volume is confirmed with the API server.
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

  /** Writes the volume first, because the conflict check on the volume decides between claims. */
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
    this.#record(claim, notice);
  }

  async #runProvisioner(claim: PersistentVolumeClaim, storageClass: StorageClass): Promise<void> {
    const { objects, context, times, provisioners } = this.#options;
    const { dialect } = context;
    const { provisioner: plugin } = storageClass;
    times.begin(keyOf(claim), plugin, 'provision');
    try {
      const annotated = await objects.saveClaim(claim, provisioningClaim(claim, plugin, dialect));
      const volume = await provisioners.get(plugin)?.provision(annotated, storageClass);
      const message = `Successfully provisioned volume ${volume?.metadata.name} using ${plugin}`;
      this.#record(claim, normal('ProvisioningSucceeded', message));
    } catch (error) {
      times.failed(keyOf(claim));
      const which = `Failed to provision volume with StorageClass "${storageClass.metadata.name}"`;
      if (!isConflict(error)) this.#record(claim, warning('ProvisioningFailed', `${which}: ${messageOf(error)}`));
      if (!(error instanceof VolumeElsewhereError)) throw error;
      const latest = objects.claim(keyOf(claim)) ?? claim;
      await objects.saveClaim(latest, unselectedClaim(latest, dialect));
    }
  }

  #record(object: ApiObject, notice: Notice | undefined): void {
    if (notice !== undefined) this.#options.context.events.record(object, notice.type, notice.reason, notice.message);
  }
}
