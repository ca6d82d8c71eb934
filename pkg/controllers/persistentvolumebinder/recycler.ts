/** Empties released volumes with recycler pods. */
import { isPodTerminal } from '#api/core/v1/pod/conditions.js';
import { pods as podType } from '#api/core/v1/resources.gen.js';
import type { PersistentVolume, Pod } from '#api/core/v1/types.gen.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { isAlreadyExists, isNotFound } from '#apimachinery/errors/status.js';
import type { Client } from '#client/client.js';
import type { Informer } from '#client/informer/informer.js';
import { podsOfClaim } from '#controllers/framework/informers.js';
import { claimKeyOf } from '#controllers/persistentvolumebinder/bound-objects.js';
import { type Recyclers, recyclerPod, volumeRecycledBy } from '#controllers/persistentvolumebinder/recycling.js';

export type Recycling =
  /** Pods still use the volume. */
  | { readonly kind: 'used'; readonly pods: readonly string[] }
  | { readonly kind: 'running' }
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly message: string };

export interface RecyclerOptions {
  readonly client: Client;
  /** Indexed by claim. */
  readonly pods: Informer<Pod>;
  readonly recyclers: Recyclers;
}

export class Recycler {
  readonly #options: RecyclerOptions;
  /** The recycler pod of each volume. A pod of an earlier process is replaced. */
  readonly #running = new Map<string, Pod>();

  constructor(options: RecyclerOptions) {
    this.#options = options;
  }

  /** Calls `changed` with the volume of each changed recycler pod. Returns the function that stops the watch. */
  watch(changed: (volume: string) => void): () => void {
    const onPod = ({ metadata }: Pod) => {
      const volume = volumeRecycledBy(metadata.name ?? '');
      if (volume !== undefined && this.#running.has(volume)) changed(volume);
    };
    return this.#options.pods.addHandler({ onAdd: onPod, onUpdate: onPod, onDelete: onPod });
  }

  /** Performs the next step. `claimed`: a new claim has the name of the volume's claim, so its pods do not use the volume. */
  async recycle(volume: PersistentVolume, claimed: boolean): Promise<Recycling> {
    const using = claimed
      ? []
      : podsOfClaim(this.#options.pods, claimKeyOf(volume)).filter((pod) => !isPodTerminal(pod));
    if (using.length > 0) {
      return { kind: 'used', pods: using.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`) };
    }
    const pod = recyclerPod(volume, this.#options.recyclers);
    if (pod === undefined) return { kind: 'failed', message: 'No recycler plugin found for the volume!' };
    try {
      return await this.#step(volume.metadata.name ?? '', pod);
    } catch (error) {
      return { kind: 'failed', message: `Recycle failed: ${messageOf(error)}` };
    }
  }

  /** Deletes the recycler pod of a deleted volume. */
  async abandon(volume: string): Promise<void> {
    const pod = this.#running.get(volume);
    if (pod === undefined) return;
    await this.#delete(pod, 'failed to delete recycler pod');
    this.#running.delete(volume);
  }

  /** Throws failures with the messages of 1.24. */
  async #step(volume: string, newPod: Pod): Promise<Recycling> {
    const running = this.#running.get(volume);
    if (running === undefined) {
      await this.#create(volume, newPod);
      return { kind: 'running' };
    }
    const pod = await this.#live(running);
    const { phase, message = '' } = pod?.status ?? {};
    if (pod !== undefined && phase !== 'Succeeded' && phase !== 'Failed') return { kind: 'running' };
    this.#running.delete(volume);
    if (pod === undefined) throw new Error('failed to recycle volume: recycler pod was deleted');
    await this.#delete(running, 'failed to delete recycler pod');
    if (phase === 'Succeeded') return { kind: 'done' };
    throw new Error(`failed to recycle volume: ${message === '' ? 'pod failed, pod.Status.Message unknown' : message}`);
  }

  async #create(volume: string, pod: Pod): Promise<void> {
    try {
      this.#running.set(volume, await this.#options.client.resource(podType).create(pod));
    } catch (error) {
      if (!isAlreadyExists(error)) throw new Error(`unexpected error creating recycler pod:  ${messageOf(error)}`);
      await this.#delete(pod, 'failed to delete old recycler pod');
      throw new Error('old recycler pod found, will retry later');
    }
  }

  async #live({ metadata }: Pod): Promise<Pod | undefined> {
    const { name = '', namespace = '', uid } = metadata;
    try {
      const pod = await this.#options.client.resource(podType).get(name, { namespace });
      return pod.metadata.uid === uid ? pod : undefined;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async #delete({ metadata }: Pod, failure: string): Promise<void> {
    const { name = '', namespace = '' } = metadata;
    try {
      await this.#options.client.resource(podType).delete(name, { namespace });
    } catch (error) {
      if (!isNotFound(error)) throw new Error(`${failure} ${namespace}/${name}: ${messageOf(error)}`);
    }
  }
}
