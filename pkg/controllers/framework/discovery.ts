/** Discovers the resources that the API serves, built-in and custom. */

import { customresourcedefinitions } from '#api/apiextensions/v1/resources.gen.js';
import { apiservices } from '#api/apiregistration/v1/resources.gen.js';
import type { APIGroupList, APIResource, APIResourceList } from '#api/meta/v1/types.gen.js';
import type { GroupKey } from '#apimachinery/dialect.js';
import { toJSONText } from '#apimachinery/json-text.js';
import type { ResourceType } from '#apimachinery/schema/schema.js';
import type { ApiObject, Client } from '#client/client.js';
import type { InformerFactory } from '#client/informer/informer.js';
import { sharedInformer } from '#controllers/framework/informers.js';

export interface DiscoveredResources {
  /** One type per resource, in the group's preferred version if that serves it. */
  readonly resources: readonly ResourceType<ApiObject>[];
  /** The error of each group version that could not be read. */
  readonly failures: ReadonlyMap<string, unknown>;
}

/** Reads all groups. Throws if the list of groups cannot be read. */
export async function discoverResources(client: Client, signal?: AbortSignal): Promise<DiscoveredResources> {
  const options = signal === undefined ? {} : { signal };
  const { groups } = await client.request<APIGroupList>('GET', '/apis', undefined, options);
  // The preferred version of each group comes first; the other versions only add resources that it lacks.
  const versions = [
    { group: '', groupVersion: 'v1', version: 'v1' },
    ...groups.flatMap(({ name, preferredVersion, versions: all }) =>
      [...all]
        .sort(
          (a, b) => Number(b.version === preferredVersion?.version) - Number(a.version === preferredVersion?.version),
        )
        .map(({ groupVersion, version }) => ({ group: name, groupVersion, version })),
    ),
  ];
  const failures = new Map<string, unknown>();
  const lists = await Promise.all(
    versions.map(async ({ group, groupVersion, version }) => {
      const path = group === '' ? '/api/v1' : `/apis/${groupVersion}`;
      try {
        const list = await client.request<APIResourceList>('GET', path, undefined, options);
        return { group, version, resources: list.resources ?? [] };
      } catch (error) {
        failures.set(groupVersion, error);
        return { group, version, resources: [] };
      }
    }),
  );
  const types = new Map<string, ResourceType<ApiObject>>();
  for (const { group, version, resources } of lists) {
    for (const resource of resources) {
      const id = `${group}/${resource.name}`;
      if (resource.name.includes('/') || types.has(id)) continue;
      types.set(id, resourceType(client, group, version, resource));
    }
  }
  return { resources: [...types.values()], failures };
}

/** Calls `changed` when the set of served resources may have changed. Returns the function that stops the watch. */
export function watchServedResources(informers: InformerFactory, changed: () => void): () => void {
  const statusOf = (object: ApiObject & { status?: unknown }) => toJSONText(object.status);
  const handler = {
    onAdd: changed,
    onDelete: changed,
    onUpdate: (object: ApiObject, old: ApiObject) => {
      if (statusOf(object) !== statusOf(old)) changed();
    },
  };
  const remove = [
    sharedInformer(informers, customresourcedefinitions).addHandler(handler),
    sharedInformer(informers, apiservices).addHandler(handler),
  ];
  return () => {
    for (const unwatch of remove) unwatch();
  };
}

function resourceType(client: Client, group: string, version: string, resource: APIResource): ResourceType<ApiObject> {
  return {
    group: groupKeyOf(client, group),
    version,
    resource: resource.name,
    singular: resource.singularName,
    kind: resource.kind,
    namespaced: resource.namespaced,
    verbs: resource.verbs ?? [],
  };
}

/** The key of a custom group is its name, which the dialect does not translate. */
function groupKeyOf(client: Client, group: string): GroupKey {
  return client.dialect.groupKey(group) ?? (group as GroupKey);
}
