/** Objects out of JSON texts. (Into JSON they go by `toJSONText`: in memory they have JSON's shape.) */

import { allSteps, type Steps } from '#apimachinery/async/steps.js';
import { DecodeError, decodeFailure } from '#apimachinery/codec/json/decode-error.js';
import { countKeys, duplicateKeys } from '#apimachinery/codec/json/duplicate-keys.js';
import { mergedMembers } from '#apimachinery/codec/json/merged-members.js';
import { repeatedKeysError } from '#apimachinery/codec/json/repeated-keys.js';
import { jsonSyntaxError } from '#apimachinery/codec/json/syntax-error.js';
import { parseJSONText } from '#apimachinery/codec/json/text.js';
import { parseJSONSteps } from '#apimachinery/codec/json/text-steps.js';
import { typeMetaFault } from '#apimachinery/codec/json/type-meta.js';
import { type JsonObject, JsonWalk } from '#apimachinery/codec/json/walk.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { badRequest, type StatusError } from '#apimachinery/errors/status.js';
import { toJSONText } from '#apimachinery/json-text.js';
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
  /** What the value was parsed from, where members that repeat are looked for. */
  readonly text?: string;
}

interface Read {
  readonly walked: Walked;
  /** Paths of members that repeat, of which parsing leaves the last ones. */
  readonly duplicates: readonly string[];
}

function read(type: TypeInfo, value: unknown, options: Finish): Read {
  const { text } = options;
  const fault = type.isKind ? typeMetaFault(value) : undefined;
  if (fault !== undefined) {
    throw unrecognized(type.shortName, options.document ?? text ?? toJSONText(value), fault, new DecodeError(fault));
  }
  const walked = walk(type, value, options);
  const repeats = text !== undefined && countKeys(text) !== walked.members;
  return { walked, duplicates: repeats ? duplicateKeys(text, maxFindings) : [] };
}

/** Whether a value is not what 1.24 makes of its text. What it has a schema for is read as a value there, too. */
function isMerged({ duplicates }: Read, { prune }: TypeInfo): boolean {
  return duplicates.length > 0 && prune === undefined;
}

function told(type: TypeInfo, { walked, duplicates }: Read, { validation, repeatedKeys = [] }: Finish): Decoded {
  const object = walked.object as JsonObject;
  if (validation === 'Ignore') return { object, warnings: [] };
  const { unknown } = walked;
  if (duplicates.length + repeatedKeys.length + unknown.length === 0) return { object, warnings: [] };
  const findings = findingsOf(type, unknown, duplicates).slice(0, maxFindings);
  if (validation === 'Strict') {
    const errors = repeatedKeys.length === 0 ? findings : [repeatedKeysError(repeatedKeys), ...findings];
    throw decodeFailure(type, new DecodeError(`strict decoding error: ${errors.join(', ')}`));
  }
  return { object, warnings: [...repeatedKeys, ...findings] };
}

interface Walked {
  readonly object: unknown;
  readonly members: number;
  readonly unknown: readonly string[];
}

function walk(type: TypeInfo, value: unknown, { validation, canonical }: Finish): Walked {
  const walk = new JsonWalk({ collectUnknown: validation !== 'Ignore', limit: maxFindings, canonical });
  try {
    const object = walk.root(type, value === null && type.isKind ? {} : value);
    return { object, members: walk.members, unknown: walk.unknown ?? [] };
  } catch (error) {
    if (error instanceof DecodeError) throw decodeFailure(type, error);
    throw error;
  }
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
export function decodeJSON(bytes: Buffer | string, type: TypeInfo, validation: FieldValidation = 'Ignore'): Decoded {
  const text = typeof bytes === 'string' ? bytes : bytes.toString('utf8');
  return allSteps(decodeParsedSteps(text, parseFor(type, text), type, validation));
}

/** The first half of it: the text as a value. */
function parseFor(type: TypeInfo, text: string): unknown {
  try {
    return parseJSONText(text, 'literals');
  } catch (error) {
    throw unparsable(type, text, error);
  }
}

/** The same in steps. */
export function* parseForSteps(type: TypeInfo, text: string): Steps<unknown> {
  try {
    return yield* parseJSONSteps(text, 'literals');
  } catch (error) {
    throw unparsable(type, text, error);
  }
}

function unparsable(type: TypeInfo, text: string, error: unknown): StatusError {
  const reason = jsonSyntaxError(Buffer.from(text)) ?? messageOf(error);
  const why = `couldn't get version/kind; json parse error: ${reason}`;
  return unrecognized(type.shortName, text, why, new DecodeError(why, { cause: error }));
}

/** 400 for a text of which not even the kind can be told. `kind` is what it was meant to be of, and `why` the cause's words. */
export function unrecognized(kind: string, body: string | Buffer, why: string, cause?: unknown): StatusError {
  return badRequest(`the object provided is unrecognized (must be of type ${kind}): ${why} (${summary(body)})`, cause);
}

/** The second half, which takes the value over. */
export function* decodeParsedSteps(
  text: string,
  value: unknown,
  type: TypeInfo,
  validation: FieldValidation = 'Ignore',
): Steps<Decoded> {
  const options = { validation, text };
  const found = read(type, value, options);
  if (!isMerged(found, type)) return told(type, found, options);
  const walked = walk(type, yield* mergedMembers(text, type), options);
  return told(type, { ...found, walked }, options);
}

/** The same for a value that is parsed already, which is taken over: it may be changed and become part of the result. */
export function decodeValue(
  value: unknown,
  type: TypeInfo,
  validation: FieldValidation = 'Ignore',
  parsed: ParsedValue = {},
): Decoded {
  const options = { ...parsed, validation };
  return told(type, read(type, value, options), options);
}

/** The JSON text of an object. */
export function encodeJSON(object: unknown): Buffer {
  return Buffer.from(toJSONText(object));
}
