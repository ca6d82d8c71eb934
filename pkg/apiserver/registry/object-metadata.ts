/** What clients write into the metadata of objects: versions, also of lists, owners, names of clusters. */
import type { OwnMetadata } from '#api/meta/object.js';
import type { ObjectMeta, OwnerReference } from '#api/meta/v1/types.gen.js';
import type { Draft } from '#apimachinery/draft.js';
import { quoted } from '#apimachinery/errors/shown.js';
import { badRequest, unclassified } from '#apimachinery/errors/status.js';
import { invalidValue } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import { type RequestContext, warn } from '#apiserver/http/context.js';
import type { Revision } from '#storage/store.js';

/** Versions have 64 bits. */
const maxRevision = 2n ** 64n - 1n;

/** The version as a number, or why it is none, in the words of 1.24 (Go's `strconv.ParseUint`). */
function parseRevision(text: string): Revision | string {
  const refusal = (why: string) => `strconv.ParseUint: parsing ${quoted(text)}: ${why}`;
  if (!/^\d+$/.test(text)) return refusal('invalid syntax');
  const digits = text.replace(/^0+(?=\d)/, '');
  // What is longer needs no parsing to be too large.
  const revision = digits.length > 20 ? maxRevision + 1n : BigInt(digits);
  return revision > maxRevision ? refusal('value out of range') : revision;
}

/**
 * The `resourceVersion` parameter of a get, list or watch. Throws 500 for what no server gave out, as 1.24 does, whose cache
 * parses it (apiserver/pkg/storage/etcd3/api_object_versioner.go).
 */
export function requestedVersion(text: string): Revision {
  const revision = parseRevision(text);
  if (typeof revision === 'string') throw unclassified(malformed(text, revision));
  return revision;
}

/** The same of a list that 1.24 has its store answer: 400. */
export function storedVersion(text: string): Revision {
  const revision = parseRevision(text);
  if (typeof revision === 'string') throw badRequest(`invalid resource version: ${malformed(text, revision)}`);
  return revision;
}

function malformed(text: string, why: string): string {
  const { field, message } = invalidValue(FieldPath.of('resourceVersion'), text, why);
  return `${field}: ${message}`;
}

/** `metadata.resourceVersion` of an object to be stored; 0 where it has none. Throws 500 for what is no number. */
export function objectVersion(text = ''): Revision {
  if (text === '') return 0n;
  const revision = parseRevision(text);
  if (typeof revision === 'string') throw unclassified(revision);
  return revision;
}

/** The same for an object to be created, where 1.24 takes what is no number for none. */
export function initialVersion(text = ''): Revision {
  if (text === '') return 0n;
  const revision = parseRevision(text);
  return typeof revision === 'string' ? 0n : revision;
}

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
