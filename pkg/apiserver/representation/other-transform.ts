/** Objects asked for as partial lists, and lists as partial objects. */
import { notAcceptableAs, type StatusError, unclassified } from '#apimachinery/errors/status.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';

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
