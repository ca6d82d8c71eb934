/** Decodes objects from JSON. (`toJSONText` encodes them: in memory objects have the shape of JSON.) */

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

/** Treatment of unknown and repeated members (`?fieldValidation=`). */
export type FieldValidation = 'Strict' | 'Warn' | 'Ignore';

export interface Decoded {
  /** Canonical: see `JsonWalk`. */
  readonly object: JsonObject;
  /** Texts for `Warning` headers; only for `Warn`. */
  readonly warnings: string[];
}

/** Maximum number of reported findings. */
const maxFindings = 100;

const openingBrace = 0x7b;
/** Bytes of a body in messages. */
const summaryBytes = 30;

function summary(body: string | Buffer): string {
  if (body.length === 0) return '<empty>';
  const bytes = typeof body === 'string' ? Buffer.from(body.slice(0, summaryBytes + 1)) : body;
  const encoding = bytes[0] === openingBrace ? 'utf8' : 'hex';
  const shown = bytes.toString(encoding, 0, Math.min(bytes.length, summaryBytes));
  return bytes.length > summaryBytes ? `${shown} ...` : shown;
}

/** Properties of a parsed value. */
export interface ParsedValue {
  /** Members that are canonical already and left unchanged. */
  readonly canonical?: ReadonlySet<unknown> | undefined;
  /** Repeated keys of its YAML document: see `repeatedKey`. */
  readonly repeatedKeys?: readonly string[] | undefined;
  /** The source document, for messages; default: the value's JSON. */
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

/** Throws 400 for a value without recognizable kind. `document`: its source, for the message. */
function requireTypeMeta(type: TypeInfo, value: unknown, document: () => string | Buffer): void {
  const fault = type.isKind ? typeMetaFault(value) : undefined;
  if (fault !== undefined) throw unrecognized(type.shortName, document(), fault, new DecodeError(fault));
}

/** `duplicates`: paths of repeated members. */
function withFindings(
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

/** Findings in the order of 1.24: for custom kinds sorted by path, after those of the text itself. */
function findingsOf({ prune }: TypeInfo, unknown: readonly string[], duplicates: readonly string[]): string[] {
  const ordered = prune === undefined ? unknown : [...unknown].sort();
  const ofUnknown = ordered.map((path) => `unknown field ${JSON.stringify(path)}`);
  const ofDuplicates = duplicates.map((path) => `duplicate field ${JSON.stringify(path)}`);
  return prune === undefined ? [...ofUnknown, ...ofDuplicates] : [...ofDuplicates, ...ofUnknown];
}

/**
 * Decodes an object of a type. The default `validation` silently drops unknown members. Repeated members are combined
 * like in 1.24. Throws 400 BadRequest for invalid JSON, a value that is not an object, a wrong shape, and (`Strict`)
 * for unknown or repeated members.
 */
export function decodeJSON(json: Buffer | string, type: TypeInfo, validation: FieldValidation = 'Ignore'): Decoded {
  return allSteps(decodeJSONSteps(typeof json === 'string' ? Buffer.from(json) : json, type, validation));
}

/** `decodeJSON` in steps. */
export function* decodeJSONSteps(json: Buffer, type: TypeInfo, validation: FieldValidation = 'Ignore'): Steps<Decoded> {
  const options = { validation };
  const value = yield* parsed(type, json);
  yield;
  requireTypeMeta(type, value, () => json);
  const walked = walk(type, value, options);
  const duplicates = yield* duplicateKeys(json, maxFindings);
  // Custom kinds are plain values in 1.24, so repeated members are not combined.
  const isAsParsed = duplicates.length === 0 || type.prune !== undefined;
  return withFindings(
    type,
    isAsParsed ? walked : walk(type, yield* mergedMembers(json, type), options),
    options,
    duplicates,
  );
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

/** 400 for text whose kind is not recognizable. `kind` is the expected kind, and `why` the reason. */
export function unrecognized(kind: string, body: string | Buffer, why: string, cause?: unknown): StatusError {
  return badRequest(`the object provided is unrecognized (must be of type ${kind}): ${why} (${summary(body)})`, cause);
}

/** Decodes a parsed value, which may be modified and become part of the result. */
export function decodeValue(
  value: unknown,
  type: TypeInfo,
  validation: FieldValidation = 'Ignore',
  parsed: ParsedValue = {},
): Decoded {
  const options = { ...parsed, validation };
  requireTypeMeta(type, value, () => parsed.document ?? toJSONText(value));
  return withFindings(type, walk(type, value, options), options);
}

/** The JSON text of an object. */
export function encodeJSON(object: unknown): Buffer {
  return Buffer.from(toJSONText(object));
}

/** The Go type that 1.24 decodes version and kind into. */
const versionAndKind =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';

/**
 * The reason why the kind of a value is not recognizable, in the words of 1.24, which decodes the kind first; undefined
 * if there is none. Null is an empty object of the expected kind.
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
 * Repairs JSON bytes like Go's decoder: each invalid byte becomes U+FFFD, where Node.js would replace several by one.
 * Returns the same buffer if it is valid UTF-8.
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

/** The number of bytes of the character at that index; 0 if it is invalid. */
function characterAt(octets: Buffer, at: number): number {
  const lead = octets[at] ?? 0;
  if (lead < 0x80) return 1;
  const width = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  return at + width <= octets.length && isUtf8(octets.subarray(at, at + width)) ? width : 0;
}
