/** Owners that an object names twice. */
import type { OwnMetadata } from '#api/meta/object.js';
import type { ObjectMeta, OwnerReference } from '#api/meta/v1/types.gen.js';
import type { Draft } from '#apimachinery/draft.js';
import { type RequestContext, warn } from '#apiserver/http/context.js';

/** Takes the name away, in place, and tells the client. */
export function dropClusterName(context: RequestContext, metadata: Draft<ObjectMeta>): void {
  const { clusterName } = metadata;
  if (clusterName === undefined) return;
  delete metadata.clusterName;
  if (clusterName === '') return;
  const text = 'This field is not preserved and will be removed from the schema in 1.25';
  warn(context, `metadata.clusterName was specified. ${text}`);
}

/** Whether the object is as it came, or has been through mutating admission. */
export type Stage = 'received' | 'admitted';

/**
 * Of references that are all the same one is kept, in place, and the client is warned: so release 1.24 answers, although
 * its warning speaks of refusing them.
 */
export function dropRepeatedOwners(context: RequestContext, { metadata }: OwnMetadata, stage: Stage): void {
  const references = metadata.ownerReferences;
  if (references === undefined || references.length < 2) return;
  const kept: OwnerReference[] = [];
  const repeated: string[] = [];
  const seen = new Set<string>();
  for (const reference of references) {
    const text = textOf(reference);
    if (seen.has(text)) repeated.push(reference.uid ?? '');
    else kept.push(reference);
    seen.add(text);
  }
  if (repeated.length === 0) return;
  metadata.ownerReferences = kept;
  const when = stage === 'admitted' ? ' after mutating admission happens' : '';
  warn(
    context,
    `.metadata.ownerReferences contains duplicate entries${when}; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${repeated.join(', ')}`,
  );
}

/** The same for references that are the same, in whatever order their members came. */
function textOf({ apiVersion, kind, name, uid, controller, blockOwnerDeletion }: OwnerReference): string {
  return JSON.stringify([apiVersion, kind, name, uid, controller, blockOwnerDeletion]);
}
