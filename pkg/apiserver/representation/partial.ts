/** PartialObjectMetadata: an object reduced to its metadata. */

import type { ApiObjectShape } from '#api/meta/object.js';
import { nullsOf } from '#apimachinery/codec/json/nulls.js';
import { toJSONText } from '#apimachinery/json-text.js';
import type { Transform } from '#apiserver/http/media-type.js';
import { objectOf, type ServedResource } from '#apiserver/resources/served-resource.js';
import type { Entry } from '#storage/resource-storage.js';

export function partialOf(object: ApiObjectShape, transform: Pick<Transform, 'group' | 'version'>): ApiObjectShape {
  return {
    kind: 'PartialObjectMetadata',
    apiVersion: `${transform.group}/${transform.version}`,
    metadata: object.metadata,
  };
}

/** Tells the partial objects of an entry apart: metadata may say other things in a version that converts. */
export function viewName(
  { conversion, apiVersion, edition = '' }: ServedResource,
  { group, version }: Pick<Transform, 'group' | 'version'>,
): string {
  const view = `${group}/${version}`;
  return conversion === undefined ? view : `${view} of ${apiVersion}${edition}`;
}

/** The same as JSON, made once per entry and meta version. */
export function partialJson(
  resource: ServedResource,
  entry: Entry,
  transform: Pick<Transform, 'group' | 'version'>,
): Buffer {
  const name = `partial:${viewName(resource, transform)}`;
  return entry.encoded(name, (same) => {
    const { metadata, ...partial } = partialOf(objectOf(resource, same), transform);
    return Buffer.from(toJSONText({ ...partial, metadata: nullsOf(resource.type).inside('metadata', metadata) }));
  });
}
