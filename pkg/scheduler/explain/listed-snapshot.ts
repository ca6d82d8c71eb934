/** The scheduler's state, listed from the API server, for decisions outside the scheduler. */
import { replicasets, statefulsets } from '#api/apps/v1/resources.gen.js';
import {
  namespaces,
  nodes,
  persistentvolumeclaims,
  persistentvolumes,
  pods,
  replicationcontrollers,
  services,
} from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { poddisruptionbudgets } from '#api/policy/v1/resources.gen.js';
import { csidrivers, csinodes, csistoragecapacities, storageclasses } from '#api/storage/v1/resources.gen.js';
import { allowManyListeners } from '#apimachinery/async/abort.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { ApiObject, Client } from '#client/client.js';
import type { EventHandler, Informer, InformerFactory } from '#client/informer/informer.js';
import { Store } from '#client/informer/store.js';
import { LiveObjects } from '#scheduler/cluster/live-objects.js';
import { podInfo } from '#scheduler/cluster/pod-info.js';
import type { Snapshot } from '#scheduler/explain/snapshot.js';

const pageSize = 5000;

/** Rejects with the server's StatusError if a list is forbidden. */
export async function listedSnapshot(client: Client, signal: AbortSignal): Promise<Snapshot> {
  const { dialect } = client;
  allowManyListeners(signal);
  const informers = new ListedInformers(client);
  const fill = async <T extends ApiObject>(type: ResourceType<T>) =>
    informers.fill(type, await listAll(client, type, signal));
  const [allNodes, allPods] = await Promise.all([
    listAll(client, nodes, signal),
    listAll(client, pods, signal),
    fill(namespaces),
    fill(services),
    fill(replicationcontrollers),
    fill(replicasets),
    fill(statefulsets),
    fill(poddisruptionbudgets),
    fill(persistentvolumes),
    fill(persistentvolumeclaims),
    fill(storageclasses),
    fill(csidrivers),
    fill(csinodes),
    fill(csistoragecapacities),
  ]);
  const running = allPods.filter(({ status }) => status?.phase !== 'Succeeded' && status?.phase !== 'Failed');
  const at = (node: (pod: Pod) => string) =>
    running.flatMap((pod) => (node(pod) === '' ? [] : [{ pod: podInfo(pod), node: node(pod) }]));
  return {
    nodes: allNodes,
    placed: at(({ spec }) => spec.nodeName ?? ''),
    nominated: at(({ spec, status }) => ((spec.nodeName ?? '') === '' ? (status?.nominatedNodeName ?? '') : '')),
    objects: new LiveObjects(informers, dialect),
  };
}

async function listAll<T extends ApiObject>(client: Client, type: ResourceType<T>, signal: AbortSignal): Promise<T[]> {
  const items: T[] = [];
  let next: string | undefined;
  do {
    const page = await client.resource(type).list({
      limit: pageSize,
      signal,
      ...(next === undefined ? {} : { continue: next }),
    });
    for (const item of page.items) items.push(item);
    next = page.metadata?.continue;
  } while (next !== undefined && next !== '');
  return items;
}

class ListedInformer<T extends ApiObject> extends Store<T> implements Informer<T> {
  readonly lastVersion = '';

  hasSynced(): boolean {
    return true;
  }

  async whenSynced(): Promise<void> {}

  /** Calls `onAdd` for the listed objects; no changes follow. */
  addHandler({ onAdd }: EventHandler<T>): () => void {
    if (onAdd !== undefined) for (const object of this.list()) onAdd(object, true);
    return () => undefined;
  }
}

/** Informers over fixed lists, so that code written for informers can read a snapshot. */
class ListedInformers implements InformerFactory {
  readonly client: Client;
  readonly #informers = new Map<string, ListedInformer<ApiObject>>();

  constructor(client: Client) {
    this.client = client;
  }

  informer<T extends ApiObject>(type: ResourceType<T>): Informer<T> {
    return this.#of(type);
  }

  existing<T extends ApiObject>(type: ResourceType<T>): Informer<T> {
    return this.#of(type);
  }

  fill<T extends ApiObject>(type: ResourceType<T>, objects: readonly T[]): void {
    const informer = this.#of(type);
    for (const object of objects) informer.set(keyOf(object), object);
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  waitForSync(): Promise<void> {
    return Promise.resolve();
  }

  #of<T extends ApiObject>({ group, resource }: ResourceType<T>): ListedInformer<T> {
    const key = `${resource}.${group}`;
    let informer = this.#informers.get(key);
    if (informer === undefined) {
      informer = new ListedInformer<ApiObject>();
      this.#informers.set(key, informer);
    }
    // The key determines the type.
    return informer as unknown as ListedInformer<T>;
  }
}
