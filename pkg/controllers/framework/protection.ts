/** A finalizer that delays the deletion of objects while they are in use. Pure. */
import type { ApiObject } from '#client/client.js';

/**
 * `add`: the finalizer is missing, as on objects older than the admission plugin that adds it. `release`: the object is
 * being deleted; remove the finalizer once the object is unused.
 */
export function protectionStep({ metadata }: ApiObject, finalizer: string): 'add' | 'release' | undefined {
  const isPresent = metadata.finalizers?.includes(finalizer) ?? false;
  if (metadata.deletionTimestamp === undefined) return isPresent ? undefined : 'add';
  return isPresent ? 'release' : undefined;
}

export function withFinalizer<T extends ApiObject>(object: T, finalizer: string): T {
  const finalizers = [...(object.metadata.finalizers ?? []), finalizer];
  return { ...object, metadata: { ...object.metadata, finalizers } };
}

export function withoutFinalizer<T extends ApiObject>(object: T, finalizer: string): T {
  const finalizers = object.metadata.finalizers?.filter((each) => each !== finalizer) ?? [];
  return { ...object, metadata: { ...object.metadata, finalizers } };
}
