/** Empties a namespace: asks for the deletion of everything in it and counts what is left. */

import { messageOf } from '#apimachinery/errors/message.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { ApiObject, Client } from '#client/client.js';
import { discoverResources } from '#controllers/framework/discovery.js';
import type { Remains } from '#controllers/namespace/plan.js';

/** Resources emptied at once: enough to be quick, few enough to leave others their turn. */
const parallel = 8;

export async function deleteContent(client: Client, namespace: string, signal: AbortSignal): Promise<Remains> {
  const { resources, failures } = await discoverResources(client, signal);
  const counts = new Map<string, number>();
  const finalizers = new Map<string, number>();
  const contentFailures: string[] = [];
  const todo = resources.filter((type) => type.namespaced && type.verbs.includes('delete')).reverse();
  const work = async () => {
    for (let type = todo.pop(); type !== undefined; type = todo.pop()) {
      const name = nameOf(client, type);
      try {
        const left = await deleteAll(client, type, namespace, signal);
        if (left.length > 0) counts.set(name, left.length);
        for (const finalizer of left.flatMap((object) => object.metadata.finalizers ?? [])) {
          finalizers.set(finalizer, (finalizers.get(finalizer) ?? 0) + 1);
        }
      } catch (error) {
        contentFailures.push(`${name}: ${messageOf(error)}`);
      }
    }
  };
  await Promise.all(Array.from({ length: parallel }, work));
  return {
    counts,
    finalizers,
    discoveryFailures: new Map([...failures].map(([group, error]) => [group, messageOf(error)])),
    contentFailures: contentFailures.sort(),
  };
}

function nameOf(client: Client, type: ResourceType<ApiObject>): string {
  const group = client.dialect.groupName(type.group);
  return group === '' ? type.resource : `${type.resource}.${group}`;
}

/** Objects of the type that are left after asking for their deletion. */
async function deleteAll(
  client: Client,
  type: ResourceType<ApiObject>,
  namespace: string,
  signal: AbortSignal,
): Promise<ApiObject[]> {
  if (!type.verbs.includes('list')) return [];
  const resource = client.resource(type);
  const options = { namespace, propagationPolicy: 'Background' as const, signal };
  const found = (await resource.list({ namespace, signal })).items;
  if (found.length === 0) return [];
  // What is being deleted already waits for somebody else; asking again would not help.
  const fresh = found.filter((object) => object.metadata.deletionTimestamp === undefined);
  if (fresh.length === 0) return found;
  if (type.verbs.includes('deletecollection')) await resource.deleteCollection(options);
  else {
    for (const { metadata } of fresh) {
      try {
        await resource.delete(metadata.name ?? '', options);
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    }
  }
  return (await resource.list({ namespace, signal })).items;
}
