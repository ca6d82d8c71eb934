/** Empties released volumes by pods, each of which is made, awaited and taken away. */
import { isPodTerminal } from '#api/core/v1/pod/conditions.js';
import { pods as podType } from '#api/core/v1/resources.gen.js';
import type { PersistentVolume, Pod } from '#api/core/v1/types.gen.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { isAlreadyExists, isNotFound } from '#apimachinery/errors/status.js';
import type { Client } from '#client/client.js';
import type { Informer } from '#client/informer/informer.js';
import { podsOfClaim } from '#controllers/framework/informers.js';
import { claimKeyOf } from '#controllers/persistentvolumebinder/objects.js';
import { type Recyclers, recyclerPod, volumeRecycledBy } from '#controllers/persistentvolumebinder/recycling.js';

export type Recycling =
  /** Its pods still use it. */
  | { readonly kind: 'used'; readonly pods: readonly string[] }
  | { readonly kind: 'running' }
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly message: string };

export interface RecyclerOptions {
  readonly client: Client;
  /** Indexed by claims. */
  readonly pods: Informer<Pod>;
  readonly recyclers: Recyclers;
}

export class Recycler {
  readonly #options: RecyclerOptions;
  /** Volume → the pod that was made for it. What another process began is begun anew. */
  readonly #running = new Map<string, Pod>();

  constructor(options: RecyclerOptions) {
    this.#options = options;
  }

  /** Calls `look` with the volume of each recycler's pod that changes. Returns what ends that. */
  watch(look: (volume: string) => void): () => void {
    const seen = ({ metadata }: Pod) => {
      const volume = volumeRecycledBy(metadata.name ?? '');
      if (volume !== undefined && this.#running.has(volume)) look(volume);
    };
    return this.#options.pods.addHandler({ onAdd: seen, onUpdate: seen, onDelete: seen });
  }

  /** One step further. `claimed`: another claim has the name of the volume's, so that pods of the name are not its. */
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

  /** The volume is gone: nobody waits for its pod. */
  async abandon(volume: string): Promise<void> {
    const pod = this.#running.get(volume);
    if (pod === undefined) return;
    await this.#delete(pod, 'failed to delete recycler pod');
    this.#running.delete(volume);
  }

  /** Throws why it failed, in the words of 1.24. */
  async #step(volume: string, wanted: Pod): Promise<Recycling> {
    const made = this.#running.get(volume);
    if (made === undefined) {
      await this.#create(volume, wanted);
      return { kind: 'running' };
    }
    const pod = await this.#live(made);
    const { phase, message = '' } = pod?.status ?? {};
    if (pod !== undefined && phase !== 'Succeeded' && phase !== 'Failed') return { kind: 'running' };
    this.#running.delete(volume);
    if (pod === undefined) throw new Error('failed to recycle volume: recycler pod was deleted');
    await this.#delete(made, 'failed to delete recycler pod');
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
