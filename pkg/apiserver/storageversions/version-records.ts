/** Computes the records of versions that a server writes and reads. Pure. */
import type { CustomResourceDefinition } from '#api/apiextensions/v1/types.gen.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';
import type { ResourceStorage } from '#storage/resource-storage.js';

export interface VersionRecord {
  /** The StorageVersion's name: `core.pods`, `apps.deployments`. */
  readonly name: string;
  /** For example `apps/v1`. */
  readonly encodingVersion: string;
  readonly decodableVersions: readonly string[];
}

/** The record's name, in which even the core group has a name. */
export function recordName(group: string, resource: string): string {
  return `${group === '' ? 'core' : group}.${resource}`;
}

/** Records of resources with objects. Groups that share objects (events) can read each other's versions. */
export function builtInRecords(
  resources: Iterable<ServedResource>,
  isStored: (resource: ServedResource) => boolean,
): VersionRecord[] {
  const versions = new Map<ResourceStorage, Set<string>>();
  const records = new Map<string, { readonly resource: ServedResource; readonly versions: Set<string> }>();
  for (const resource of resources) {
    if (!isStored(resource)) continue;
    const shared = versions.get(resource.storage) ?? new Set([resource.stored.apiVersion]);
    versions.set(resource.storage, shared.add(resource.apiVersion));
    records.set(recordName(resource.group, resource.declaration.resource), { resource, versions: shared });
  }
  return [...records].map(([name, { resource, versions: decodable }]) => ({
    name,
    encodingVersion: resource.stored.apiVersion,
    decodableVersions: [...decodable].sort(),
  }));
}

/** A server reads every version of the definition, served or not. */
export function customRecord({ spec }: CustomResourceDefinition): VersionRecord {
  const { group, names, versions } = spec;
  const stored = versions.find(({ storage }) => storage)?.name ?? '';
  return {
    name: recordName(group, names.plural),
    encodingVersion: `${group}/${stored}`,
    decodableVersions: versions.map(({ name }) => `${group}/${name}`).sort(),
  };
}
