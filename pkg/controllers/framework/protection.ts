/** A finalizer that delays the deletion of objects while they are in use. Pure. */
import type { ApiObject } from '#client/client.js';

/**
 * What to do about the finalizer: `add` it where it is missing (admission adds it to new objects, but not to older
 * ones), `release` it from an object that is being deleted, once nobody uses it.
 */
export function protectionStep({ metadata }: ApiObject, finalizer: string): 'add' | 'release' | undefined {
  const there = metadata.finalizers?.includes(finalizer) ?? false;
  if (metadata.deletionTimestamp === undefined) return there ? undefined : 'add';
  return there ? 'release' : undefined;
}

export function withFinalizer<T extends ApiObject>(object: T, finalizer: string): T {
  const finalizers = [...(object.metadata.finalizers ?? []), finalizer];
  return { ...object, metadata: { ...object.metadata, finalizers } };
}

export function withoutFinalizer<T extends ApiObject>(object: T, finalizer: string): T {
  const finalizers = object.metadata.finalizers?.filter((each) => each !== finalizer) ?? [];
  return { ...object, metadata: { ...object.metadata, finalizers } };
}
