/** Orders objects and texts. Pure. */
import type { ApiObject } from '#client/client.js';

/** Compares UTF-16 code units, independent of the locale. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Oldest first; equal times by name. */
export function byCreation(a: ApiObject, b: ApiObject): number {
  return (
    compareText(a.metadata.creationTimestamp ?? '', b.metadata.creationTimestamp ?? '') ||
    compareText(a.metadata.name ?? '', b.metadata.name ?? '')
  );
}
