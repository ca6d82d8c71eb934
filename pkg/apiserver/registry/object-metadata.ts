/** Metadata that clients write: resource versions (of lists, too), owners, cluster names. */
import type { OwnMetadata } from '#api/meta/object.js';
import type { ObjectMeta, OwnerReference } from '#api/meta/v1/types.gen.js';
import type { Draft } from '#apimachinery/draft.js';
import { quoted } from '#apimachinery/errors/message-values.js';
import { badRequest, unclassified } from '#apimachinery/errors/status.js';
import { invalidValue } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import { type RequestContext, warn } from '#apiserver/http/request-context.js';
import type { Revision } from '#storage/store.js';

const maxRevision = 2n ** 64n - 1n;

/** The parsed version, or the error text of 1.24 (Go's `strconv.ParseUint`). */
function parseRevision(text: string): Revision | string {
  const refusal = (why: string) => `strconv.ParseUint: parsing ${quoted(text)}: ${why}`;
  if (!/^\d+$/.test(text)) return refusal('invalid syntax');
  const digits = text.replace(/^0+(?=\d)/, '');
  // More digits are out of range without parsing.
  const revision = digits.length > 20 ? maxRevision + 1n : BigInt(digits);
  return revision > maxRevision ? refusal('value out of range') : revision;
}

/**
 * The `resourceVersion` parameter of a get, list or watch. Throws 500 for a malformed one, as 1.24 does, whose cache parses
 * it (apiserver/pkg/storage/etcd3/api_object_versioner.go).
 */
export function requestedVersion(text: string): Revision {
  const revision = parseRevision(text);
  if (typeof revision === 'string') throw unclassified(malformed(text, revision));
  return revision;
}

/** The `resourceVersion` of a list that 1.24 answers from its store. Throws 400. */
export function storedVersion(text: string): Revision {
  const revision = parseRevision(text);
  if (typeof revision === 'string') throw badRequest(`invalid resource version: ${malformed(text, revision)}`);
  return revision;
}

function malformed(text: string, why: string): string {
  const { field, message } = invalidValue(FieldPath.of('resourceVersion'), text, why);
  return `${field}: ${message}`;
}

/** `metadata.resourceVersion` of an object to store; 0 if absent. Throws 500 if malformed. */
export function objectVersion(text = ''): Revision {
  if (text === '') return 0n;
  const revision = parseRevision(text);
  if (typeof revision === 'string') throw unclassified(revision);
  return revision;
}

/** The version of an object to create: 1.24 ignores a malformed one. */
export function initialVersion(text = ''): Revision {
  if (text === '') return 0n;
  const revision = parseRevision(text);
  return typeof revision === 'string' ? 0n : revision;
}

/** Removes `clusterName` in place and warns the client. */
export function dropClusterName(context: RequestContext, metadata: Draft<ObjectMeta>): void {
  const { clusterName } = metadata;
  if (clusterName === undefined) return;
  delete metadata.clusterName;
  if (clusterName === '') return;
  const text = 'This field is not preserved and will be removed from the schema in 1.25';
  warn(context, `metadata.clusterName was specified. ${text}`);
}

/** Before or after mutating admission. */
export type Stage = 'received' | 'admitted';

/** Drops repeated owner references in place, with a warning. 1.24 accepts them, too, although its warning threatens refusal. */
export function dropRepeatedOwners(context: RequestContext, { metadata }: OwnMetadata, stage: Stage): void {
  const references = metadata.ownerReferences;
  if (references === undefined || references.length < 2) return;
  const distinct: OwnerReference[] = [];
  const repeated: string[] = [];
  const seen = new Set<string>();
  for (const reference of references) {
    const text = referenceKey(reference);
    if (seen.has(text)) repeated.push(reference.uid ?? '');
    else distinct.push(reference);
    seen.add(text);
  }
  if (repeated.length === 0) return;
  metadata.ownerReferences = distinct;
  const when = stage === 'admitted' ? ' after mutating admission happens' : '';
  warn(
    context,
    `.metadata.ownerReferences contains duplicate entries${when}; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${repeated.join(', ')}`,
  );
}

/** Equal for equal references, whatever the order of their members. */
function referenceKey({ apiVersion, kind, name, uid, controller, blockOwnerDeletion }: OwnerReference): string {
  return JSON.stringify([apiVersion, kind, name, uid, controller, blockOwnerDeletion]);
}
