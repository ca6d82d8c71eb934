import type { ApiObjectShape } from '#api/meta/object.js';
import { semanticEqual } from '#apimachinery/equality.js';

/** True if only fields that garbage collection needs have changed. */
export function onlyForCollection(object: ApiObjectShape, old: ApiObjectShape): boolean {
  const rest = ({ metadata, ...others }: ApiObjectShape) => {
    const { finalizers, ownerReferences, managedFields, resourceVersion, ...kept } = metadata;
    return { ...others, metadata: kept };
  };
  return semanticEqual(rest(object), rest(old));
}
