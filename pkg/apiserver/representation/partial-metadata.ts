/** PartialObjectMetadata: an object reduced to its metadata. */
import type { ApiObjectShape } from '#api/meta/object.js';
import { nullsOf } from '#apimachinery/codec/json/empty-members.js';
import { notAcceptableAs, type StatusError, unclassified } from '#apimachinery/errors/status.js';
import { toJSONText } from '#apimachinery/json-text.js';
import type { Transform } from '#apiserver/http/content-negotiation.js';
import { objectOf, type ServedResource } from '#apiserver/resources/served-resource.js';
import type { Entry } from '#storage/resource-storage.js';

/** 406 for a list requested as PartialObjectMetadata. */
export function listNotAcceptable(resource: ServedResource): StatusError {
  const type = isCustom(resource) ? '*unstructured.UnstructuredList' : `${goType(resource)}List`;
  return notAcceptableAs(`you requested PartialObjectMetadata, but the requested object is a list (${type})`);
}

/** The error for an object requested as a list. For custom objects 1.24 notices it too late for a 406. */
export function objectNotAcceptable(resource: ServedResource): StatusError {
  if (isCustom(resource)) return unclassified('content is not a list');
  const why = `the requested object is not a list (${goType(resource)})`;
  return notAcceptableAs(`you requested PartialObjectMetadataList, but ${why}`);
}

function isCustom({ edition }: ServedResource): boolean {
  return edition !== undefined;
}

/** The Go type in 1.24, whose events belong to the core group. */
function goType({ declaration: { group, kind } }: ServedResource): string {
  return `*${group === 'events' ? 'core' : group}.${kind}`;
}

type MetaVersion = Pick<Transform, 'group' | 'version'>;

export function partialOf({ metadata }: Pick<ApiObjectShape, 'metadata'>, { group, version }: MetaVersion) {
  return { kind: 'PartialObjectMetadata', apiVersion: `${group}/${version}`, metadata };
}

/** An entry's object reduced to its metadata. Shared: do not modify. */
export function partialOfEntry(resource: ServedResource, entry: Entry, version: MetaVersion): ApiObjectShape {
  return partialOf({ metadata: internalMetadata(resource, entry) }, version);
}

/**
 * Metadata as 1.24 keeps it internally: without annotations that are fields there, and without those that carry fields which
 * older versions lack.
 */
function internalMetadata(resource: ServedResource, entry: Entry): ApiObjectShape['metadata'] {
  const metadata = metadataOf(resource, entry);
  const { internalAnnotations = [] } = resource.strategy;
  const { annotations, ...rest } = metadata;
  if (annotations === undefined || !internalAnnotations.some((name) => name in annotations)) return metadata;
  const shown = Object.entries(annotations).filter(([name]) => !internalAnnotations.includes(name));
  return shown.length === 0 ? rest : { ...rest, annotations: Object.fromEntries(shown) };
}

/** Without converting the rest of the object: defaults and columns do not concern metadata. */
function metadataOf(resource: ServedResource, entry: Entry): ApiObjectShape['metadata'] {
  const { conversion } = resource;
  if (conversion?.kind !== 'in process') return objectOf(resource, entry).metadata;
  const stored = entry.object() as ApiObjectShape;
  return conversion.metadataOf?.(stored) ?? stored.metadata;
}

/** Distinguishes an entry's partial objects: metadata may differ in a version that is converted. */
export function viewName(
  { conversion, apiVersion, edition = '' }: ServedResource,
  { group, version }: MetaVersion,
): string {
  const view = `${group}/${version}`;
  return conversion === undefined ? view : `${view} of ${apiVersion}${edition}`;
}

/** As JSON, encoded once per entry and meta version. */
export function partialJson(resource: ServedResource, entry: Entry, transform: MetaVersion): Buffer {
  const name = `partial:${viewName(resource, transform)}`;
  return entry.encoded(name, (same) => {
    const { metadata, ...partial } = partialOfEntry(resource, same, transform);
    return Buffer.from(toJSONText({ ...partial, metadata: nullsOf(resource.type).inside('metadata', metadata) }));
  });
}
