/** A finalizer that keeps objects which are in use from going. Pure. */
import type { ApiObject } from '#client/client.js';

/**
 * What is to be done about the finalizer: `add` where it is missing (admission puts it on; objects may be older than
 * that), `release` on an object that goes, once nobody uses it.
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
