/** Versions of objects and lists as clients write them. */
import { quoted } from '#apimachinery/errors/shown.js';
import { badRequest, unclassified } from '#apimachinery/errors/status.js';
import { invalidValue } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';
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
  const revision = parseRevision(text);
  return typeof revision === 'string' ? 0n : revision;
}
