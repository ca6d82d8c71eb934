/** Facts of the objects in requests and responses: the few fields that the report compares. */
import { decodeEnvelope, hasEnvelope } from '#apimachinery/codec/protobuf/envelope.js';
import { Reader } from '#apimachinery/codec/protobuf/reader.js';
import { tag, wire } from '#apimachinery/codec/protobuf/writer.js';

export interface ObjectFacts {
  readonly name: string;
  readonly uid: string;
  /** Empty without one. */
  readonly resourceVersion: string;
  readonly isOwned: boolean;
  readonly hasFinalizers: boolean;
  readonly isDeleting: boolean;
}

/** Larger bodies are not read. */
const maxBytes = 1024 * 1024;

const none: ObjectFacts = {
  name: '',
  uid: '',
  resourceVersion: '',
  isOwned: false,
  hasFinalizers: false,
  isDeleting: false,
};

/** Undefined for bodies that are no objects, that are too large, or compressed. */
export function factsOf(body: Buffer): ObjectFacts | undefined {
  if (body.length === 0 || body.length > maxBytes) return undefined;
  try {
    return hasEnvelope(body) ? protobufFacts(body) : jsonFacts(body);
  } catch {
    // The server judges malformed bodies.
    return undefined;
  }
}

function jsonFacts(body: Buffer): ObjectFacts | undefined {
  const metadata = record(record(JSON.parse(body.toString('utf8')))?.['metadata']);
  if (metadata === undefined) return undefined;
  const text = (name: string) => (typeof metadata[name] === 'string' ? metadata[name] : '');
  const isList = (name: string) => Array.isArray(metadata[name]) && metadata[name].length > 0;
  return {
    name: text('name'),
    uid: text('uid'),
    resourceVersion: text('resourceVersion'),
    isOwned: isList('ownerReferences'),
    hasFinalizers: isList('finalizers'),
    isDeleting: text('deletionTimestamp') !== '',
  };
}

function record(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
}

/** Numbers of the fields of ObjectMeta. */
const field = { name: 1, uid: 5, resourceVersion: 6, deletion: 9, owners: 13, finalizers: 14 } as const;

function protobufFacts(body: Buffer): ObjectFacts {
  const reader = new Reader(decodeEnvelope(body).raw);
  while (reader.at < reader.end) {
    const key = reader.uint32();
    if (key !== tag(1, wire.delimited)) {
      reader.skip(key & 7);
      continue;
    }
    reader.enter();
    return metadataFacts(reader);
  }
  return none;
}

function metadataFacts(reader: Reader): ObjectFacts {
  let facts = none;
  while (reader.at < reader.end) {
    const key = reader.uint32();
    switch (key >>> 3) {
      case field.name:
        facts = { ...facts, name: reader.string() };
        break;
      case field.uid:
        facts = { ...facts, uid: reader.string() };
        break;
      case field.resourceVersion:
        facts = { ...facts, resourceVersion: reader.string() };
        break;
      case field.deletion:
        facts = { ...facts, isDeleting: true };
        reader.skip(key & 7);
        break;
      case field.owners:
        facts = { ...facts, isOwned: true };
        reader.skip(key & 7);
        break;
      case field.finalizers:
        facts = { ...facts, hasFinalizers: true };
        reader.skip(key & 7);
        break;
      default:
        reader.skip(key & 7);
    }
  }
  return facts;
}

/** Whether the options of a deletion name the object's UID or version. */
export function hasPreconditions(body: Buffer): boolean {
  if (body.length === 0 || body.length > maxBytes) return false;
  try {
    if (!hasEnvelope(body)) {
      const preconditions = record(record(JSON.parse(body.toString('utf8')))?.['preconditions']);
      return preconditions?.['uid'] !== undefined || preconditions?.['resourceVersion'] !== undefined;
    }
    const reader = new Reader(decodeEnvelope(body).raw);
    while (reader.at < reader.end) {
      const key = reader.uint32();
      if (key === tag(2, wire.delimited)) return true;
      reader.skip(key & 7);
    }
    return false;
  } catch {
    // The server judges malformed bodies.
    return false;
  }
}
