/** Objects out of JSON texts. (Into JSON they go by `toJSONText`: in memory they have JSON's shape.) */

import type { Steps } from '#apimachinery/async/steps.js';
import { DecodeError, decodeFailure } from '#apimachinery/codec/json/decode-error.js';
import { countKeys, duplicateKeys } from '#apimachinery/codec/json/duplicate-keys.js';
import { repeatedKeysError } from '#apimachinery/codec/json/repeated-keys.js';
import { jsonSyntaxError } from '#apimachinery/codec/json/syntax-error.js';
import { parseJSONText } from '#apimachinery/codec/json/text.js';
import { parseJSONSteps } from '#apimachinery/codec/json/text-steps.js';
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

/** Bytes of a text that messages show. */
const summaryBytes = 30;

function summary(text: string): string {
  if (text === '') return '<empty>';
  const bytes = Buffer.from(text.slice(0, summaryBytes + 1));
  const encoding = text.startsWith('{') ? 'utf8' : 'hex';
  const shown = bytes.toString(encoding, 0, Math.min(bytes.length, summaryBytes));
  return bytes.length > summaryBytes ? `${shown} ...` : shown;
}

/** What is known of a parsed value. */
export interface ParsedValue {
  /** Its members whose values are canonical already, which are left alone. */
  readonly canonical?: ReadonlySet<unknown> | undefined;
  /** What its YAML document said twice: see `repeatedKey`. */
  readonly repeatedKeys?: readonly string[] | undefined;
}

interface Finish extends ParsedValue {
  readonly validation: FieldValidation;
  /** What the value was parsed from, where members that repeat are looked for. */
  readonly text?: string;
}

function finish(type: TypeInfo, value: unknown, options: Finish): Decoded {
  const { validation, text, canonical } = options;
  const repeatedKeys = validation === 'Ignore' ? [] : (options.repeatedKeys ?? []);
  const walk = new JsonWalk({ collectUnknown: validation !== 'Ignore', limit: maxFindings, canonical });
  let object: unknown;
  try {
    object = walk.root(type, value);
  } catch (error) {
    if (error instanceof DecodeError) throw decodeFailure(type, error);
    throw error;
  }
  // Parsing leaves only one of those that repeat.
  const repeats = validation !== 'Ignore' && text !== undefined && countKeys(text) !== walk.members;
  const duplicates = repeats ? duplicateKeys(text, maxFindings) : [];
  if (duplicates.length + repeatedKeys.length + (walk.unknown ?? []).length === 0)
    return { object: object as JsonObject, warnings: [] };
  const findings = findingsOf(type, walk.unknown ?? [], duplicates).slice(0, maxFindings);
  if (validation === 'Strict') {
    const errors = repeatedKeys.length === 0 ? findings : [repeatedKeysError(repeatedKeys), ...findings];
    throw decodeFailure(type, new DecodeError(`strict decoding error: ${errors.join(', ')}`));
  }
  return { object: object as JsonObject, warnings: [...repeatedKeys, ...findings] };
}

/** As 1.24 orders them: of kinds with a schema of their own by their paths, behind what is wrong with the text itself. */
function findingsOf({ prune }: TypeInfo, unknown: readonly string[], duplicates: readonly string[]): string[] {
  const ordered = prune === undefined ? unknown : [...unknown].sort();
  const ofUnknown = ordered.map((path) => `unknown field ${JSON.stringify(path)}`);
  const ofDuplicates = duplicates.map((path) => `duplicate field ${JSON.stringify(path)}`);
  return prune === undefined ? [...ofUnknown, ...ofDuplicates] : [...ofDuplicates, ...ofUnknown];
}

/**
 * Reads an object of a type. Without an own `validation` unknown members are dropped silently. Throws 400 BadRequest
 * for what is no JSON, no object, or an object of another shape, and (`Strict`) for unknown and repeated members.
 */
export function decodeJSON(bytes: Buffer | string, type: TypeInfo, validation: FieldValidation = 'Ignore'): Decoded {
  const text = typeof bytes === 'string' ? bytes : bytes.toString('utf8');
  return decodeParsed(text, parseFor(type, text), type, validation);
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
  return unrecognized(type.shortName, text, `couldn't get version/kind; json parse error: ${reason}`, error);
}

/** 400 for a text of which not even the kind can be told. `kind` is what it was meant to be of. */
export function unrecognized(kind: string, text: string, why: string, cause?: unknown): StatusError {
  return badRequest(`the object provided is unrecognized (must be of type ${kind}): ${why} (${summary(text)})`, cause);
}

/**
 * The second half, which takes the value over. Members whose values are `canonical` already are left alone, and counted as
 * if they had no members: the text is to have none in their place.
 */
export function decodeParsed(
  text: string,
  value: unknown,
  type: TypeInfo,
  validation: FieldValidation = 'Ignore',
  canonical?: ReadonlySet<unknown>,
): Decoded {
  return finish(type, value, { validation, text, canonical });
}

/** The same for a value that is parsed already, which is taken over: it may be changed and become part of the result. */
export function decodeValue(
  value: unknown,
  type: TypeInfo,
  validation: FieldValidation = 'Ignore',
  parsed: ParsedValue = {},
): Decoded {
  return finish(type, value, { ...parsed, validation });
}

/** The JSON text of an object. */
export function encodeJSON(object: unknown): Buffer {
  return Buffer.from(toJSONText(object));
}
