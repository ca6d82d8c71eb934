/** Objects out of JSON texts. (Into JSON they go by `toJSONText`: in memory they have JSON's shape.) */

import { isUtf8 } from 'node:buffer';
import { allSteps, type Steps } from '#apimachinery/async/steps.js';
import { DecodeError, decodeFailure } from '#apimachinery/codec/json/decode-error.js';
import { duplicateKeys, mergedMembers, repeatedKeysError } from '#apimachinery/codec/json/duplicates.js';
import { jsonSyntaxError } from '#apimachinery/codec/json/syntax-error.js';
import { parseJSONSteps } from '#apimachinery/codec/json/text.js';
import { type JsonObject, JsonWalk } from '#apimachinery/codec/json/walk.js';
import { jsonName } from '#apimachinery/errors/go-value.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { badRequest, type StatusError } from '#apimachinery/errors/status.js';
import { NumberLiteral, toJSONText } from '#apimachinery/json-text.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';

/** What happens about members that no field describes and members that come twice (`?fieldValidation=`). */
export type FieldValidation = 'Strict' | 'Warn' | 'Ignore';

export interface Decoded {
  /** Canonical: see `JsonWalk`. */
  readonly object: JsonObject;
  /** Texts for `Warning` headers; only under `Warn`. */
  readonly warnings: string[];
}

/** As many findings are reported at most. */
const maxFindings = 100;

const openingBrace = 0x7b;
/** Bytes of a body that messages show. */
const summaryBytes = 30;

function summary(body: string | Buffer): string {
  if (body.length === 0) return '<empty>';
  const bytes = typeof body === 'string' ? Buffer.from(body.slice(0, summaryBytes + 1)) : body;
  const encoding = bytes[0] === openingBrace ? 'utf8' : 'hex';
  const shown = bytes.toString(encoding, 0, Math.min(bytes.length, summaryBytes));
  return bytes.length > summaryBytes ? `${shown} ...` : shown;
}

/** What is known of a parsed value. */
export interface ParsedValue {
  /** Its members whose values are canonical already, which are left alone. */
  readonly canonical?: ReadonlySet<unknown> | undefined;
  /** What its YAML document said twice: see `repeatedKey`. */
  readonly repeatedKeys?: readonly string[] | undefined;
  /** The document that the value was read from, for messages; its JSON unless told. */
  readonly document?: string | undefined;
}

interface Finish extends ParsedValue {
  readonly validation: FieldValidation;
}

interface Walked {
  readonly object: unknown;
  readonly unknown: readonly string[];
}

function walk(type: TypeInfo, value: unknown, { validation, canonical }: Finish): Walked {
  const walk = new JsonWalk({ collectUnknown: validation !== 'Ignore', limit: maxFindings, canonical });
  try {
    const object = walk.root(type, value === null && type.isKind ? {} : value);
    return { object, unknown: walk.unknown ?? [] };
  } catch (error) {
    if (error instanceof DecodeError) throw decodeFailure(type, error);
    throw error;
  }
}

/** Throws 400 for a value of whose kind nothing can be told. `document`: what it was read from, for the message. */
function requireTypeMeta(type: TypeInfo, value: unknown, document: () => string | Buffer): void {
  const fault = type.isKind ? typeMetaFault(value) : undefined;
  if (fault !== undefined) throw unrecognized(type.shortName, document(), fault, new DecodeError(fault));
}

/** `duplicates`: paths of members that repeat. */
function told(
  type: TypeInfo,
  { object: walked, unknown }: Walked,
  { validation, repeatedKeys = [] }: Finish,
  duplicates: readonly string[] = [],
): Decoded {
  const object = walked as JsonObject;
  if (validation === 'Ignore') return { object, warnings: [] };
  if (duplicates.length + repeatedKeys.length + unknown.length === 0) return { object, warnings: [] };
  const findings = findingsOf(type, unknown, duplicates).slice(0, maxFindings);
  if (validation === 'Strict') {
    const errors = repeatedKeys.length === 0 ? findings : [repeatedKeysError(repeatedKeys), ...findings];
    throw decodeFailure(type, new DecodeError(`strict decoding error: ${errors.join(', ')}`));
  }
  return { object, warnings: [...repeatedKeys, ...findings] };
}

/** As 1.24 orders them: of kinds with a schema of their own by their paths, behind what is wrong with the text itself. */
function findingsOf({ prune }: TypeInfo, unknown: readonly string[], duplicates: readonly string[]): string[] {
  const ordered = prune === undefined ? unknown : [...unknown].sort();
  const ofUnknown = ordered.map((path) => `unknown field ${JSON.stringify(path)}`);
  const ofDuplicates = duplicates.map((path) => `duplicate field ${JSON.stringify(path)}`);
  return prune === undefined ? [...ofUnknown, ...ofDuplicates] : [...ofDuplicates, ...ofUnknown];
}

/**
 * Reads an object of a type. Without an own `validation` unknown members are dropped silently. Members that repeat are put
 * together as 1.24 does it. Throws 400 BadRequest for what is no JSON, no object, or an object of another shape, and
 * (`Strict`) for unknown and repeated members.
 */
export function decodeJSON(json: Buffer | string, type: TypeInfo, validation: FieldValidation = 'Ignore'): Decoded {
  return allSteps(decodeJSONSteps(typeof json === 'string' ? Buffer.from(json) : json, type, validation));
}

/** The same in steps. */
export function* decodeJSONSteps(json: Buffer, type: TypeInfo, validation: FieldValidation = 'Ignore'): Steps<Decoded> {
  const options = { validation };
  const value = yield* parsed(type, json);
  yield;
  requireTypeMeta(type, value, () => json);
  const walked = walk(type, value, options);
  const duplicates = yield* duplicateKeys(json, maxFindings);
  // What 1.24 has a schema for it reads as a value, too.
  const isAsParsed = duplicates.length === 0 || type.prune !== undefined;
  return told(type, isAsParsed ? walked : walk(type, yield* mergedMembers(json, type), options), options, duplicates);
}

function* parsed(type: TypeInfo, json: Buffer): Steps<unknown> {
  try {
    return yield* parseJSONSteps(json, 'literals');
  } catch (error) {
    const reason = jsonSyntaxError(json) ?? messageOf(error);
    const why = typeMetaError(reason);
    throw unrecognized(type.shortName, json, why, new DecodeError(why, { cause: error }));
  }
}

/** 400 for a text of which not even the kind can be told. `kind` is what it was meant to be of, and `why` the cause's words. */
export function unrecognized(kind: string, body: string | Buffer, why: string, cause?: unknown): StatusError {
  return badRequest(`the object provided is unrecognized (must be of type ${kind}): ${why} (${summary(body)})`, cause);
}

/** The same for a value that is parsed already, which is taken over: it may be changed and become part of the result. */
export function decodeValue(
  value: unknown,
  type: TypeInfo,
  validation: FieldValidation = 'Ignore',
  parsed: ParsedValue = {},
): Decoded {
  const options = { ...parsed, validation };
  requireTypeMeta(type, value, () => parsed.document ?? toJSONText(value));
  return told(type, walk(type, value, options), options);
}

/** The JSON text of an object. */
export function encodeJSON(object: unknown): Buffer {
  return Buffer.from(toJSONText(object));
}

/** Go's name of what holds an object's version and kind. */
const versionAndKind =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';

/**
 * Why the kind of a value cannot be told, in the words of 1.24, which reads it before the object; undefined where it can. Null is an object without members,
 * which is of the kind that is expected.
 */
export function typeMetaFault(value: unknown): string | undefined {
  if (value === null) return undefined;
  if (typeof value !== 'object' || Array.isArray(value) || value instanceof NumberLiteral) {
    return typeMetaError(`json: cannot unmarshal ${jsonName(value)} into Go value of type ${versionAndKind}`);
  }
  const { apiVersion, kind } = value as { readonly apiVersion?: unknown; readonly kind?: unknown };
  if (isName(apiVersion) && isName(kind)) return undefined;
  const name = isName(apiVersion) ? 'kind' : 'apiVersion';
  const wrong = jsonName(isName(apiVersion) ? kind : apiVersion);
  return typeMetaError(`json: cannot unmarshal ${wrong} into Go struct field .${name} of type string`);
}

function isName(value: unknown): boolean {
  return typeof value === 'string' || value === undefined || value === null;
}

function typeMetaError(reason: string): string {
  return `couldn't get version/kind; json parse error: ${reason}`;
}

const replacement = Buffer.from('\ufffd');

/**
 * The octets of a JSON text as Go's decoder takes them: each that is no part of a character stands for U+FFFD, where Node.js would
 * replace several by one. The same octets where they are UTF-8; otherwise a copy that is.
 */
export function withReplacements(octets: Buffer): Buffer {
  if (isUtf8(octets)) return octets;
  const parts: Buffer[] = [];
  let good = 0;
  for (let at = 0; at < octets.length; ) {
    const width = characterAt(octets, at);
    if (width === 0) {
      parts.push(octets.subarray(good, at), replacement);
      good = at + 1;
    }
    at += Math.max(width, 1);
  }
  return Buffer.concat([...parts, octets.subarray(good)]);
}

/** How many octets the character there takes; 0 for none. */
function characterAt(octets: Buffer, at: number): number {
  const lead = octets[at] ?? 0;
  if (lead < 0x80) return 1;
  const width = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  return at + width <= octets.length && isUtf8(octets.subarray(at, at + width)) ? width : 0;
}
