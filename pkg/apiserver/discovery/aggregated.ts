/**
 * Aggregated discovery: all groups, versions and resources in one document, as clients newer than 1.24 ask for first.
 * The document's shape is that of `apidiscovery` v2 and v2beta1, which are the same.
 */
import { parseAccept } from '#apimachinery/codec/negotiate.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { type ApiResourceDocument, type GroupVersions, resourceDocuments } from '#apiserver/discovery/resource-list.js';
import type { RequestContext } from '#apiserver/http/context.js';
import type { ResourceTable } from '#apiserver/resources/resource-table.js';

export interface AggregatedForm {
  /** The group that was asked for. */
  readonly group: string;
  readonly version: string;
}

const versions = new Set(['v2', 'v2beta1']);

/** The first acceptable form, if it is the aggregated one. */
export function aggregatedForm(context: Pick<RequestContext, 'request'>): AggregatedForm | undefined {
  for (const clause of parseAccept(context.request.headers['accept'] ?? '')) {
    if (clause.type !== 'application' && clause.type !== '*') continue;
    const { as: kind, g: group = '', v: version = '' } = clause.params;
    if (kind === undefined) return undefined;
    if (kind === 'APIGroupDiscoveryList' && group.startsWith('apidiscovery.') && versions.has(version)) {
      return { group, version };
    }
  }
  return undefined;
}

export function aggregatedGroups(
  table: ResourceTable,
  dialect: Dialect,
  form: AggregatedForm,
  groups: readonly GroupVersions[],
): object {
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: `${form.group}/${form.version}`,
    metadata: {},
    items: groups.map(({ name, versions: served }) => ({
      metadata: { name, creationTimestamp: null },
      versions: served.map((version) => ({
        version,
        resources: resourcesOf(resourceDocuments(table, name, version, dialect), name, version),
        freshness: 'Current',
      })),
    })),
  };
}

function resourcesOf(documents: readonly ApiResourceDocument[], group: string, version: string): object[] {
  const own = documents.filter(({ name }) => !name.includes('/'));
  return own.map((document) => {
    const below = documents.filter(({ name }) => name.startsWith(`${document.name}/`));
    return {
      resource: document.name,
      responseKind: { group, version, kind: document.kind },
      scope: document.namespaced ? 'Namespaced' : 'Cluster',
      singularResource: document.kind.toLowerCase(),
      verbs: document.verbs,
      ...(document.shortNames === undefined ? {} : { shortNames: document.shortNames }),
      ...(document.categories === undefined ? {} : { categories: document.categories }),
      ...(below.length === 0
        ? {}
        : {
            subresources: below.map((sub) => ({
              subresource: sub.name.slice(document.name.length + 1),
              responseKind: { group: sub.group ?? group, version: sub.version ?? version, kind: sub.kind },
              verbs: sub.verbs,
            })),
          }),
    };
  });
}
