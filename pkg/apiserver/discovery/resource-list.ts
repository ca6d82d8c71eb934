/** Discovery documents of groups, versions and resources. */
import { createHash } from 'node:crypto';
import type { Dialect } from '#apimachinery/dialect.js';
import type { SubresourceDeclaration } from '#apimachinery/schema/schema.js';
import { compareVersions, groupPriority, versionPriority } from '#apiserver/discovery/priorities.js';
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
  /** Versions, the preferred one first. */
  readonly versions: readonly string[];
}

/** A version of a group that another server serves. */
export interface RemoteVersion {
  /** Empty for core. */
  readonly group: string;
  readonly version: string;
  /** Higher priorities come first; a group has the highest of its versions. */
  readonly groupPriority: number;
  readonly versionPriority: number;
}

interface Group {
  readonly name: string;
  priority: number;
  /** Versions with their priorities. */
  readonly versions: Map<string, number>;
}

/** Groups and versions in 1.24's order, including those of other servers. */
export function groupsOf(table: ResourceTable, remote: Iterable<RemoteVersion> = []): GroupVersions[] {
  const groups = new Map<string, Group>();
  const add = (name: string, priority: number, version: string, versionRank: number) => {
    const group = groups.get(name) ?? { name, priority, versions: new Map<string, number>() };
    group.priority = Math.max(group.priority, priority);
    group.versions.set(version, versionRank);
    groups.set(name, group);
  };
  for (const { group: name, declaration } of table.all()) {
    const { group, version } = declaration;
    add(name, groupPriority(group), version, versionPriority(group, version));
  }
  for (const { group, version, ...of } of remote) add(group, of.groupPriority, version, of.versionPriority);
  return [...groups.values()]
    .sort((a, b) => b.priority - a.priority || (a.name < b.name ? -1 : 1))
    .map(({ name, versions }) => ({
      name,
      versions: [...versions]
        .sort(([a, left], [b, right]) => right - left || compareVersions(a, b))
        .map(([version]) => version),
    }));
}

/** First bytes of a digest of the stored version; it changes when objects need migration. */
function storageVersionHash({ stored: { apiVersion, kind } }: ServedResource): string {
  const group = apiVersion.includes('/') ? '' : '/';
  return createHash('sha256').update(`${group}${apiVersion}/${kind}`).digest().subarray(0, 8).toString('base64');
}

function subresource(
  resource: ServedResource,
  declared: SubresourceDeclaration,
  dialect: Dialect,
): ApiResourceDocument {
  const { declaration } = resource;
  const isOwnGroup = declared.group === undefined;
  return {
    name: `${declaration.resource}/${declared.name}`,
    singularName: '',
    namespaced: declaration.namespaced,
    ...(isOwnGroup
      ? {}
      : { group: dialect.groupName(declared.group ?? 'core'), version: declared.version ?? declaration.version }),
    kind: declared.kind,
    verbs: declared.verbs,
  };
}

/** The singular name; empty for built-in kinds, as in 1.24, whose clients derive it from the kind. */
function singularName({ declaration, edition }: ServedResource): string {
  return edition === undefined ? '' : declaration.singular;
}

export interface DocumentOptions {
  readonly dialect: Dialect;
  /** Whether documents of stored resources have the hash of their stored version. */
  readonly hashes: boolean;
}

/**
 * A group version's resources by name, each before its subresources: sorted by name for built-in kinds, and with the status
 * first for definitions, as 1.24 adds them.
 */
export function resourceDocuments(
  table: ResourceTable,
  group: string,
  version: string,
  { dialect, hashes }: DocumentOptions,
): ApiResourceDocument[] {
  const documents: ApiResourceDocument[] = [];
  for (const resource of [...table.of(group, version)].sort(byName)) {
    const { declaration, edition } = resource;
    documents.push({
      name: declaration.resource,
      singularName: singularName(resource),
      namespaced: declaration.namespaced,
      kind: declaration.kind,
      verbs: declaration.verbs,
      ...(declaration.shortNames === undefined ? {} : { shortNames: declaration.shortNames }),
      ...(declaration.categories === undefined ? {} : { categories: declaration.categories }),
      ...(hashes && isStored(declaration.verbs) ? { storageVersionHash: storageVersionHash(resource) } : {}),
    });
    const declared = [...(declaration.subresources ?? [])];
    const ordered = declared.sort((a, b) => (a.name < b.name ? -1 : 1));
    if (edition !== undefined) ordered.reverse();
    for (const declaredSubresource of ordered) documents.push(subresource(resource, declaredSubresource, dialect));
  }
  return documents;
}

function byName({ declaration: a }: ServedResource, { declaration: b }: ServedResource): number {
  return a.resource < b.resource ? -1 : 1;
}

/** True if the resource's objects are in the store; others are computed for each response. */
function isStored(verbs: readonly string[]): boolean {
  return verbs.includes('list') && verbs.includes('create');
}
