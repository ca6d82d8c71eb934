/** The scheduler's state, listed from the API server: for whoever decides beside the scheduler. */
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
import { shared } from '#apimachinery/async/shared-signal.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { ApiObject, Client } from '#client/client.js';
import { LiveObjects } from '#scheduler/cluster/live-objects.js';
import { podInfo } from '#scheduler/cluster/pod-info.js';
import { ListedInformers } from '#scheduler/explain/listed-informers.js';
import type { Snapshot } from '#scheduler/explain/snapshot.js';

const pageSize = 5000;

/** Rejects with the server's StatusError when one of the lists is forbidden. */
export async function listedSnapshot(client: Client, signal: AbortSignal): Promise<Snapshot> {
  const { dialect } = client;
  shared(signal);
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
