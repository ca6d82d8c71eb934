/**
 * Metadata of objects embedded in custom objects: members unknown to ObjectMeta are dropped, as in the object's own
 * metadata. Source: 1.24,
 * staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta/{algorithm,coerce}.go.
 */

import { isMembers, Structural } from '#api/apiextensions/v1/structural/structural.js';
import type { ObjectMeta } from '#api/meta/v1/types.gen.js';
import { DecodeError } from '#apimachinery/codec/json/decode-error.js';
import { JsonWalk } from '#apimachinery/codec/json/walk.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import { setMember } from '#apimachinery/collections/set-member.js';
import type { Draft } from '#apimachinery/draft.js';
import { goSyntax } from '#apimachinery/errors/go-value.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { jsonEqual } from '#apimachinery/patch/json-values.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';
import { FieldPath } from '#apimachinery/validation/path.js';

export interface MetadataRules {
  /** `meta.v1.ObjectMeta`. */
  readonly type: TypeInfo;
  /** Drops values of a wrong type, which an earlier release stored unchecked. */
  readonly dropInvalid: boolean;
}

/**
 * The object's own metadata as read from the store, without unknown members and values of a wrong type. Returns the
 * same object if it is valid.
 */
export function readMetadata(metadata: object, type: TypeInfo): object {
  if (isUsual(metadata)) return metadata;
  const coerced = coercedMetadata(copyJson(metadata), { type, dropInvalid: true }) as Draft<ObjectMeta>;
  // Like 1.24, gives old objects a generation.
  if (coerced.generation === undefined) coerced.generation = 1;
  return jsonEqual(coerced, metadata) ? metadata : coerced;
}

const texts: ReadonlySet<string> = new Set(['name', 'generateName', 'namespace', 'selfLink', 'uid', 'resourceVersion']);
const times: ReadonlySet<string> = new Set(['creationTimestamp', 'deletionTimestamp']);
const numbers: ReadonlySet<string> = new Set(['generation', 'deletionGracePeriodSeconds']);
const secondsTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

/** Fast path for metadata that are certainly valid, without a copy. */
function isUsual(metadata: object): boolean {
  const members = metadata as Readonly<Record<string, unknown>>;
  if (members.generation === undefined) return false;
  for (const name in members) {
    if (!isRight(name, members[name])) return false;
  }
  return true;
}

function isRight(name: string, value: unknown): boolean {
  if (texts.has(name)) return isText(value);
  if (times.has(name)) return typeof value === 'string' && secondsTime.test(value);
  if (numbers.has(name)) return Number.isSafeInteger(value);
  if (name === 'labels' || name === 'annotations') return isMembers(value) && Object.values(value).every(isText);
  if (!Array.isArray(value)) return false;
  if (name === 'finalizers') return value.every(isText);
  const parts = partsOf[name];
  return parts !== undefined && value.every((part) => isMembers(part) && hasOnly(part, parts));
}

/** Types of the members of owner references and managedFields entries. */
const partsOf: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  ownerReferences: {
    apiVersion: 'string',
    kind: 'string',
    name: 'string',
    uid: 'string',
    controller: 'boolean',
    blockOwnerDeletion: 'boolean',
  },
  managedFields: {
    manager: 'string',
    operation: 'string',
    apiVersion: 'string',
    fieldsType: 'string',
    fieldsV1: 'object',
    subresource: 'string',
    time: 'string',
  },
};

function hasOnly(part: Readonly<Record<string, unknown>>, types: Readonly<Record<string, string>>): boolean {
  for (const name in part) {
    const value = part[name];
    if (value === null || value === '' || typeof value !== types[name]) return false;
    if (name === 'time' && !secondsTime.test(value as string)) return false;
  }
  return true;
}

const isText = (value: unknown): boolean => typeof value === 'string';

/** True if coercion would change something. */
export function wouldCoerceResources(object: object, schema: Structural, type: TypeInfo): boolean {
  if (!schema.hasResources) return false;
  const own = copyJson(object);
  coerceResources(own, schema, { type, dropInvalid: true });
  return !jsonEqual(own, object);
}

/** Modifies the object in place. Throws a DecodeError for a value of a wrong type, unless those are dropped. */
export function coerceResources(object: object, schema: Structural, rules: MetadataRules): void {
  within(object, schema, { path: undefined, rules });
}

/** The members known to ObjectMeta in canonical form, without invalid ones. Keeps a value that is not an object. */
function coercedMetadata(metadata: unknown, { type, dropInvalid }: MetadataRules): unknown {
  const read = (value: object) => new JsonWalk({ collectUnknown: false, limit: 0 }).root(type, value) as object;
  if (metadata === null) return {};
  if (!dropInvalid || !isMembers(metadata)) return dropInvalid ? metadata : read(metadata as object);
  const coerced = {};
  for (const [name, value] of Object.entries(metadata)) {
    try {
      Object.assign(coerced, read({ [name]: value }));
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
    }
  }
  return coerced;
}

interface Place {
  /** Undefined at the root, whose own metadata are skipped. */
  readonly path: FieldPath | undefined;
  readonly rules: MetadataRules;
}

function within(value: unknown, schema: Structural, { path, rules }: Place): void {
  if (!schema.hasResources) return;
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items === undefined) return;
    value.forEach((element, i) => {
      within(element, items, { path: (path ?? FieldPath.of()).index(i), rules });
    });
  } else if (isMembers(value)) {
    if (schema.isResource && path !== undefined) coerceResource(value, path, rules);
    for (const name of Object.keys(value)) {
      const property = schema.member(name);
      if (!(property instanceof Structural)) continue;
      const at =
        path === undefined ? FieldPath.of(name) : schema.properties.has(name) ? path.child(name) : path.key(name);
      within(value[name], property, { path: at, rules });
    }
  }
}

function coerceResource(resource: Record<string, unknown>, path: FieldPath, rules: MetadataRules): void {
  for (const name of ['apiVersion', 'kind']) {
    const value = resource[name];
    if (!Object.hasOwn(resource, name) || typeof value === 'string') continue;
    if (!rules.dropInvalid) throw invalid(path.child(name), value, 'must be a string');
    delete resource[name];
  }
  if (!Object.hasOwn(resource, 'metadata')) return;
  const { metadata } = resource;
  try {
    setMember(resource, 'metadata', coercedMetadata(metadata, rules));
  } catch (error) {
    if (error instanceof DecodeError) throw invalid(path.child('metadata'), metadata, messageOf(error));
    throw error;
  }
}

function invalid(path: FieldPath, value: unknown, why: string): DecodeError {
  return new DecodeError(`${path}: Invalid value: ${value === null ? '"null"' : goSyntax(value)}: ${why}`);
}
