/** Whole OpenAPI documents of what is served. */
import type { Dialect } from '#apimachinery/dialect.js';
import type { Scheme } from '#apimachinery/schema/scheme.js';
import type { PathDocument, SchemaDocument } from '#apiserver/openapi/model.js';
import { addPaths } from '#apiserver/openapi/operations.js';
import { type OpenApiVersion, SchemaCollector } from '#apiserver/openapi/schemas.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';

export interface DocumentOptions {
  readonly scheme: Scheme;
  readonly dialect: Dialect;
  readonly resources: readonly ServedResource[];
}

export interface DocumentV2 {
  readonly swagger: '2.0';
  readonly info: { readonly title: string; readonly version: string };
  readonly paths: Record<string, PathDocument>;
  readonly definitions: Record<string, SchemaDocument>;
}

export interface DocumentV3 {
  readonly openapi: '3.0.0';
  readonly info: { readonly title: string; readonly version: string };
  readonly paths: Record<string, PathDocument>;
  readonly components: { readonly schemas: Record<string, SchemaDocument> };
}

/** Everything in one document. */
export function documentV2(options: DocumentOptions): DocumentV2 {
  const { paths, schemas } = collect(options, 2);
  return { swagger: '2.0', info: info(options.dialect), paths, definitions: schemas };
}

/** One group version. */
export function documentV3(options: DocumentOptions): DocumentV3 {
  const { paths, schemas } = collect(options, 3);
  return { openapi: '3.0.0', info: info(options.dialect), paths, components: { schemas } };
}

function info(dialect: Dialect) {
  return { title: dialect.product, version: dialect.version };
}

function collect({ scheme, dialect, resources }: DocumentOptions, version: OpenApiVersion) {
  const schemas = new SchemaCollector(dialect, version, scheme.type('meta.v1.ListMeta'));
  const paths: Record<string, PathDocument> = {};
  for (const resource of resources) addPaths({ scheme, dialect, version, schemas }, resource, paths);
  const served = new Set(resources.map(({ apiVersion }) => apiVersion));
  for (const { apiVersion, groupName, version: kindVersion, kind, type } of scheme.kinds) {
    if (served.has(apiVersion)) schemas.markKind(type, { group: groupName, version: kindVersion, kind });
  }
  for (const { type, group, declaration } of resources) {
    const { version: kindVersion, kind } = declaration;
    if (type.prune !== undefined) schemas.markKind(type, { group, version: kindVersion, kind });
  }
  return { paths: sorted(paths), schemas: sorted(schemas.schemas) };
}

function sorted<T>(record: Record<string, T>): Record<string, T> {
  return Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));
}
