/** Creates the claims of pods' ephemeral volumes. The pods own them. */
import { claimNameOf } from '#api/core/v1/pod/claims.js';
import { persistentvolumeclaims, pods, pods as podType } from '#api/core/v1/resources.gen.js';
import type { PersistentVolumeClaim, Pod, Volume } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { keyFor, keyOf } from '#apimachinery/object-key.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome } from '#client/workqueue/outcome.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { isNamespaceTerminating } from '#controllers/framework/errors.js';
import { indexByClaim, podsOfClaim, sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';
import { controllerOf, controllerReference } from '#controllers/framework/owners.js';

export interface EphemeralVolumeOptions {
  readonly concurrency: number;
}

export class EphemeralVolumeController implements Controller {
  readonly name = 'ephemeral-volume';
  readonly #context: ControllerContext;
  readonly #pods: Informer<Pod>;
  readonly #claims: Informer<PersistentVolumeClaim>;
  readonly #loop: ReconcileLoop;

  constructor(context: ControllerContext, { concurrency }: EphemeralVolumeOptions) {
    this.#context = context;
    this.#pods = sharedInformer(context.informers, podType);
    indexByClaim(this.#pods);
    this.#claims = sharedInformer(context.informers, persistentvolumeclaims);
    this.#loop = new ReconcileLoop(context, { name: this.name, concurrency, reconcile: (key) => this.#reconcile(key) });
  }

  async run(signal: AbortSignal): Promise<void> {
    const add = (pod: Pod) => {
      if (hasEphemeralVolumes(pod)) this.#loop.queue.add(keyOf(pod));
    };
    await this.#loop.run(signal, [
      // The volumes of a pod are immutable.
      this.#pods.addHandler({ onAdd: add }),
      this.#claims.addHandler({
        onDelete: (claim) => {
          for (const pod of podsOfClaim(this.#pods, keyOf(claim))) add(pod);
        },
      }),
    ]);
  }

  async #reconcile(key: string): Promise<Outcome> {
    const pod = this.#pods.get(key);
    if (pod === undefined) return done;
    const { namespace } = pod.metadata;
    const find = (name: string) => this.#claims.get(keyFor(namespace, name));
    for (const missing of missingClaims(pod, find, this.#context.dialect)) {
      try {
        await this.#create(key, missing);
      } catch (error) {
        if (isNamespaceTerminating(error)) throw error;
        const message = `ephemeral volume ${missing.volume}: ${messageOf(error)}`;
        this.#context.events.record(pod, 'Warning', 'FailedBinding', message);
        throw new Error(`pod ${key}, ${message}`, { cause: error });
      }
    }
    return done;
  }

  async #create(key: string, { name, claim, conflict }: EphemeralClaim): Promise<void> {
    const { client, metrics } = this.#context;
    if (claim === undefined) throw new Error(conflict);
    metrics.count('ephemeral_volume_controller_create_total', 'Number of PersistentVolumeClaims creation requests');
    try {
      this.#loop.written.wrote(key, this.#claims, await client.resource(persistentvolumeclaims).create(claim));
    } catch (error) {
      metrics.count(
        'ephemeral_volume_controller_create_failures_total',
        'Number of PersistentVolumeClaims creation requests',
      );
      if (isNamespaceTerminating(error)) throw error;
      throw new Error(`create PVC ${name}: ${messageOf(error)}`, { cause: error });
    }
  }
}

export interface EphemeralClaim {
  readonly volume: string;
  readonly name: string;
  /** The claim to create; absent when the name exists. */
  readonly claim?: PersistentVolumeClaim;
  /** Why the existing claim cannot be used. */
  readonly conflict?: string;
}

function hasEphemeralVolumes({ spec }: Pod): boolean {
  return spec.volumes?.some((volume) => volume.ephemeral !== undefined) ?? false;
}

/** Missing and conflicting claims, in the order of the volumes. `find` looks up a claim in the pod's namespace. Pure. */
export function missingClaims(
  pod: Pod,
  find: (name: string) => PersistentVolumeClaim | undefined,
  dialect: Dialect,
): EphemeralClaim[] {
  if (pod.metadata.deletionTimestamp !== undefined) return [];
  return (pod.spec.volumes ?? []).flatMap((volume): EphemeralClaim[] => {
    const name = claimNameOf(pod.metadata.name ?? '', volume);
    if (volume.ephemeral === undefined || name === undefined) return [];
    const existing = find(name);
    if (existing === undefined) return [{ volume: volume.name, name, claim: claimFor(pod, volume, name, dialect) }];
    if (controllerOf(existing)?.uid === pod.metadata.uid) return [];
    const { namespace, name: podName } = pod.metadata;
    const conflict = `PVC ${namespace}/${name} was not created for pod ${namespace}/${podName} (pod is not owner)`;
    return [{ volume: volume.name, name, conflict }];
  });
}

function claimFor(pod: Pod, { ephemeral }: Volume, name: string, dialect: Dialect): PersistentVolumeClaim {
  const { metadata: { annotations, labels } = {}, spec = {} } = ephemeral?.volumeClaimTemplate ?? {};
  return {
    metadata: {
      name,
      namespace: pod.metadata.namespace ?? '',
      ownerReferences: [controllerReference(dialect, pods, pod)],
      ...(annotations === undefined ? {} : { annotations }),
      ...(labels === undefined ? {} : { labels }),
    },
    spec,
  };
}
