/** Discovery documents: which groups, versions and resources there are. */
import { createHash } from 'node:crypto';
import type { Dialect, GroupKey } from '#apimachinery/dialect.js';
import type { SubresourceDeclaration } from '#apimachinery/schema/schema.js';
import { compareGroups, compareVersionsOf } from '#apiserver/discovery/priorities.js';
import type { ResourceTable } from '#apiserver/resources/resource-table.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';

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

/** Groups and their versions in the order of 1.24. */
export function groupsOf(table: ResourceTable): GroupVersions[] {
  const groups = new Map<string, { readonly key: GroupKey; readonly name: string; readonly versions: Set<string> }>();
  for (const { group: name, declaration } of table.all()) {
    const group = groups.get(name) ?? { key: declaration.group, name, versions: new Set<string>() };
    group.versions.add(declaration.version);
    groups.set(name, group);
  }
  return [...groups.values()]
    .sort(compareGroups)
    .map(({ key, name, versions }) => ({ name, versions: [...versions].sort(compareVersionsOf(key)) }));
}

/** First bytes of a digest of what the objects are stored as; it changes when they need to be migrated. */
function storageVersionHash({ stored: { apiVersion, kind } }: ServedResource): string {
  return createHash('sha512').update(`${apiVersion}/${kind}`).digest().subarray(0, 8).toString('base64');
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
