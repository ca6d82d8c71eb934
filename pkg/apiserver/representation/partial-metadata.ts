/** PartialObjectMetadata: an object reduced to its metadata. */
import type { ApiObjectShape } from '#api/meta/object.js';
import { nullsOf } from '#apimachinery/codec/json/empty-members.js';
import { notAcceptableAs, type StatusError, unclassified } from '#apimachinery/errors/status.js';
import { toJSONText } from '#apimachinery/json-text.js';
import type { Transform } from '#apiserver/http/media-type.js';
import { objectOf, type ServedResource } from '#apiserver/resources/served-resource.js';
import type { Entry } from '#storage/resource-storage.js';

/** 406 for a list that is asked for as one object's metadata. */
export function isList(resource: ServedResource): StatusError {
  const type = isCustom(resource) ? '*unstructured.UnstructuredList' : `${goType(resource)}List`;
  return notAcceptableAs(`you requested PartialObjectMetadata, but the requested object is a list (${type})`);
}

/** The same for an object that is asked for as a list. Of custom objects 1.24 only knows too late that they are none. */
export function isNoList(resource: ServedResource): StatusError {
  if (isCustom(resource)) return unclassified('content is not a list');
  const why = `the requested object is not a list (${goType(resource)})`;
  return notAcceptableAs(`you requested PartialObjectMetadataList, but ${why}`);
}

function isCustom({ edition }: ServedResource): boolean {
  return edition !== undefined;
}

/** As 1.24 calls it inside: its events are those of the core group. */
function goType({ declaration: { group, kind } }: ServedResource): string {
  return `*${group === 'events' ? 'core' : group}.${kind}`;
}

type MetaVersion = Pick<Transform, 'group' | 'version'>;

export function partialOf({ metadata }: Pick<ApiObjectShape, 'metadata'>, { group, version }: MetaVersion) {
  return { kind: 'PartialObjectMetadata', apiVersion: `${group}/${version}`, metadata };
}

/** The object of an entry as its metadata alone; shared, not to be modified. */
export function partialOfEntry(resource: ServedResource, entry: Entry, version: MetaVersion): ApiObjectShape {
  return partialOf({ metadata: internalMetadata(resource, entry) }, version);
}

/**
 * Metadata as 1.24 has it inside. Annotations that are fields there are not among it, nor are those in which older versions
 * carry what they have no fields for.
 */
function internalMetadata(resource: ServedResource, entry: Entry): ApiObjectShape['metadata'] {
  const { conversion } = resource;
  const isInside = conversion?.kind === 'in process' && !isCustom(resource);
  const object = isInside ? entry.object() : objectOf(resource, entry);
  const { metadata } = object as ApiObjectShape;
  const { internalAnnotations = [] } = resource.strategy;
  const { annotations, ...rest } = metadata;
  if (annotations === undefined || !internalAnnotations.some((name) => name in annotations)) return metadata;
  const kept = Object.entries(annotations).filter(([name]) => !internalAnnotations.includes(name));
  return kept.length === 0 ? rest : { ...rest, annotations: Object.fromEntries(kept) };
}

/** Tells the partial objects of an entry apart: metadata may say other things in a version that converts. */
export function viewName(
  { conversion, apiVersion, edition = '' }: ServedResource,
  { group, version }: MetaVersion,
): string {
  const view = `${group}/${version}`;
  return conversion === undefined ? view : `${view} of ${apiVersion}${edition}`;
}

/** The same as JSON, made once per entry and meta version. */
export function partialJson(resource: ServedResource, entry: Entry, transform: MetaVersion): Buffer {
  const name = `partial:${viewName(resource, transform)}`;
  return entry.encoded(name, (same) => {
    const { metadata, ...partial } = partialOfEntry(resource, same, transform);
    return Buffer.from(toJSONText({ ...partial, metadata: nullsOf(resource.type).inside('metadata', metadata) }));
  });
}
