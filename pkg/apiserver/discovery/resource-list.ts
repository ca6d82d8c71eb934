/** Discovery documents: which groups, versions and resources there are. */
import { createHash } from 'node:crypto';
import type { Dialect } from '#apimachinery/dialect.js';
import type { SubresourceDeclaration } from '#apimachinery/schema/schema.js';
import type { ResourceTable } from '#apiserver/registry/resource-table.js';
import type { ServedResource } from '#apiserver/registry/served-resource.js';

export interface ApiResourceDocument {
  readonly name: string;
  readonly singularName: string;
  readonly namespaced: boolean;
  readonly group?: string;
  readonly version?: string;
  readonly kind: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly storageVersionHash?: string;
}

export interface GroupVersions {
  /** Empty for core. */
  readonly name: string;
  /** Preferred first. */
  readonly versions: readonly string[];
}

/** `v2` before `v1` before `v1beta2` before `v1alpha1`: the order in which clients prefer versions. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [rank(a), rank(b)];
  for (const [index, value] of left.entries()) {
    const other = right[index] ?? 0;
    if (value !== other) return other - value;
  }
  return a < b ? -1 : 1;
}

function rank(version: string): number[] {
  const match = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version);
  if (match === null) return [-1, 0, 0];
  const stability = match[2] === undefined ? 2 : match[2] === 'beta' ? 1 : 0;
  return [stability, Number(match[1]), Number(match[3] ?? 0)];
}

/** Groups in the order in which they were added, core first. */
export function groupsOf(table: ResourceTable): GroupVersions[] {
  const groups = new Map<string, Set<string>>();
  for (const { group, declaration } of table.all()) {
    const versions = groups.get(group) ?? new Set<string>();
    versions.add(declaration.version);
    groups.set(group, versions);
  }
  const sorted = [...groups].sort(([a], [b]) => Number(b === '') - Number(a === ''));
  return sorted.map(([name, versions]) => ({ name, versions: [...versions].sort(compareVersions) }));
}

/** First bytes of a digest of what the objects are stored as; it changes when they need to be migrated. */
function storageVersionHash(resource: ServedResource): string {
  return createHash('sha512').update(resource.storedAs).digest().subarray(0, 8).toString('base64');
}

function subresource(
  resource: ServedResource,
  declared: SubresourceDeclaration,
  dialect: Dialect,
): ApiResourceDocument {
  const { declaration } = resource;
  const own = declared.group === undefined;
  return {
    name: `${declaration.resource}/${declared.name}`,
    singularName: '',
    namespaced: declaration.namespaced,
    ...(own
      ? {}
      : { group: dialect.groupName(declared.group ?? 'core'), version: declared.version ?? declaration.version }),
    kind: declared.kind,
    verbs: declared.verbs,
  };
}

/** One group version's resources with their subresources, in the order of their names. */
export function resourceDocuments(
  table: ResourceTable,
  group: string,
  version: string,
  dialect: Dialect,
): ApiResourceDocument[] {
  const documents: ApiResourceDocument[] = [];
  for (const resource of table.all()) {
    const { declaration } = resource;
    if (resource.group !== group || declaration.version !== version) continue;
    documents.push({
      name: declaration.resource,
      // 1.24 leaves the singular name empty, and clients derive it from the kind.
      singularName: '',
      namespaced: declaration.namespaced,
      kind: declaration.kind,
      verbs: declaration.verbs,
      ...(declaration.shortNames === undefined ? {} : { shortNames: declaration.shortNames }),
      ...(declaration.categories === undefined ? {} : { categories: declaration.categories }),
      ...(declaration.verbs.includes('list') ? { storageVersionHash: storageVersionHash(resource) } : {}),
    });
    for (const declared of declaration.subresources ?? []) documents.push(subresource(resource, declared, dialect));
  }
  return documents.sort((a, b) => (a.name < b.name ? -1 : 1));
}
