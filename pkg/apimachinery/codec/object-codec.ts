/** Objects of a scheme in any encoding: what the API server and its clients read and write. */

import { allSteps, type Steps } from '#apimachinery/async/steps.js';
import { isFormerKind } from '#apimachinery/codec/former-versions.js';
import { DecodeError, decodeFailure } from '#apimachinery/codec/json/decode-error.js';
import {
  type Decoded,
  decodeJSONSteps,
  decodeValue,
  encodeJSON,
  type FieldValidation,
  type ParsedValue,
  typeMetaFault,
  unrecognized,
  withReplacements,
} from '#apimachinery/codec/json/json.js';
import { parseJSONSteps } from '#apimachinery/codec/json/text.js';
import { isJsonObject, type JsonObject } from '#apimachinery/codec/json/walk.js';
import type { Encoding } from '#apimachinery/codec/negotiate.js';
import {
  decodeProtobuf,
  decodeProtobufSteps,
  encodeProtobuf,
  envelopeOf,
  type KindNames,
} from '#apimachinery/codec/protobuf/protobuf.js';
import type { ReadOptions } from '#apimachinery/codec/protobuf/reader.js';
import { yamlText } from '#apimachinery/codec/yaml/octets.js';
import { encodeYAML, type ReadYAML, readYAMLSteps } from '#apimachinery/codec/yaml.js';
import type { GroupKey } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { badRequest, invalid, type StatusError } from '#apimachinery/errors/status.js';
import { parseGroupVersion } from '#apimachinery/group-version.js';
import { toJSONText } from '#apimachinery/json-text.js';
import type { KindInfo, Scheme } from '#apimachinery/schema/scheme.js';
import { invalidValue } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';

/** Where the value was parsed before, `ParsedValue` tells what is known of it. */
export interface DecodeOptions extends ParsedValue {
  readonly encoding: Encoding;
  /** What the object must be. An object that does not say its kind is taken for one. */
  readonly expected?: KindInfo;
  readonly validation?: FieldValidation;
  /** Of YAML: why it cannot be read, where that was tried before. */
  readonly yamlFault?: DecodeError | undefined;
}

export interface DecodedObject {
  /** Canonical, with `apiVersion` and `kind`. */
  readonly object: JsonObject;
  readonly kind: KindInfo;
  /** Texts for `Warning` headers. */
  readonly warnings: string[];
}

/** Octets that are no text are a fault like others in the document. */
function textOfYAML(bytes: Buffer, options: DecodeOptions): { readonly text: string; readonly options: DecodeOptions } {
  try {
    return { text: yamlText(bytes), options };
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return { text: bytes.toString('utf8'), options: { ...options, yamlFault: options.yamlFault ?? error } };
  }
}

/** Beginning of a text for messages. */
function excerpt(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export class ObjectCodec {
  readonly scheme: Scheme;
  readonly #reading: ReadOptions;
  readonly #custom: Pick<Scheme, 'kind'> | undefined;

  /**
   * `reading`: how Protobuf is read. `custom`: kinds that are not of the scheme.
   */
  constructor(scheme: Scheme, reading: ReadOptions = {}, custom?: Pick<Scheme, 'kind'>) {
    this.scheme = scheme;
    this.#reading = reading;
    this.#custom = custom;
  }

  /** Reads an object. Throws 400 BadRequest. */
  decode(bytes: Buffer, options: DecodeOptions): DecodedObject {
    return allSteps(this.decodeSteps(bytes, options));
  }

  /** The same step by step: each takes a time that goes with the size of the text, and others may run in between. */
  *decodeSteps(bytes: Buffer, options: DecodeOptions): Steps<DecodedObject> {
    const { encoding, expected, validation } = options;
    if (encoding === 'protobuf') {
      requireMessage(bytes, expected);
      const { kind, object } =
        expected === undefined
          ? decodeProtobuf(this.scheme, bytes, expected, this.#reading)
          : yield* decodeProtobufSteps(this.scheme, bytes, expected, this.#reading);
      this.#check(kind, expected, object);
      return { object, kind, warnings: [] };
    }
    if (encoding === 'yaml') {
      const document = textOfYAML(bytes, options);
      const parsed = yield* documentOf(document.text, document.options);
      yield;
      return this.#yaml(document.text, parsed, document.options);
    }
    const json = withReplacements(bytes);
    if (expected === undefined) return this.decodeValue(yield* parsedJSON(json), options);
    // The kind is only known once the text is parsed, and nearly always it is the expected one.
    return this.#expected(() => json.toString(), yield* decodeJSONSteps(json, expected.type, validation), expected);
  }

  #yaml(document: string, { value, repeated }: ReadYAML, options: DecodeOptions): DecodedObject {
    return this.decodeValue(value, { ...options, document, repeatedKeys: options.repeatedKeys ?? repeated });
  }

  #expected(text: () => string, { object, warnings }: Decoded, expected: KindInfo): DecodedObject {
    if (textOf(object.kind) === expected.kind && object.apiVersion === expected.apiVersion) {
      return { object: named(expected, object), kind: expected, warnings };
    }
    const kind = this.#kindOf(object, text, expected);
    this.#check(kind, expected, object);
    return { object: named(kind, object), kind, warnings };
  }

  /** The same for a parsed value, which is taken over. */
  decodeValue(value: unknown, options: Omit<DecodeOptions, 'encoding'>): DecodedObject {
    const { expected, document, validation } = options;
    const fault = typeMetaFault(value);
    if (fault !== undefined) {
      const cause = new DecodeError(fault);
      if (expected === undefined) throw badRequest(fault, cause);
      throw unrecognized(expected.kind, document ?? toJSONText(value), fault, cause);
    }
    const given = (value ?? {}) as JsonObject;
    const isPatched = document === undefined;
    const kind = this.#kindOf(given, () => document ?? toJSONText(value), expected, isPatched);
    this.#check(kind, expected, given);
    const { object, warnings } = decodeValue(given, kind.type, validation, options);
    return { object: named(kind, object), kind, warnings };
  }

  #kindOf(object: JsonObject, text: () => string, expected: KindInfo | undefined, isPatched = false): KindInfo {
    // Objects of custom kinds name theirs, as 1.24 asks of what it has no types for.
    const assumed = expected?.type.prune === undefined ? expected : undefined;
    const kind = textOf(object.kind) || (assumed?.kind ?? '');
    const apiVersion = textOf(object.apiVersion) || (assumed?.apiVersion ?? '');
    if (expected !== undefined && assumed === undefined)
      requireNames(expected, { apiVersion, kind, object }, text, isPatched);
    if (kind === '') throw badRequest(`Object 'Kind' is missing in '${excerpt(text())}'`);
    if (apiVersion === '') throw badRequest(`Object 'apiVersion' is missing in '${excerpt(text())}'`);
    const info = this.scheme.kind(apiVersion, kind) ?? this.#custom?.kind(apiVersion, kind);
    if (info !== undefined) return info;
    if (expected !== undefined && kind === expected.kind && isFormerKind(this.scheme.dialect, apiVersion, kind)) {
      throw otherVersion(apiVersion, expected);
    }
    throw unknownKind({ apiVersion, kind }, text, expected);
  }

  #check(kind: KindInfo, expected: KindInfo | undefined, object: JsonObject): void {
    if (expected === undefined || kind.type === expected.type) return;
    if (kind.kind === expected.kind) throw otherVersion(kind.apiVersion, expected);
    throw otherKind(kind, expected, textOf(object.apiVersion));
  }

  /** The bytes of an object. `names` say what it is, in case the object itself does not. */
  encode(object: JsonObject, names: KindNames, encoding: Encoding, options: { pretty?: boolean } = {}): Buffer {
    if (encoding === 'protobuf') return encodeProtobuf(names, object);
    const complete =
      object.kind === undefined && names.type.isKind
        ? { kind: names.kind, apiVersion: names.apiVersion, ...object }
        : object;
    if (encoding === 'yaml') return encodeYAML(complete);
    return options.pretty === true ? Buffer.from(`${toJSONText(complete, 2)}\n`) : encodeJSON(complete);
  }
}

/** 400 for an object of a kind that there is not, with 1.24's words where it was meant to be of another one. */
function unknownKind(
  { apiVersion, kind }: { readonly apiVersion: string; readonly kind: string },
  text: () => string,
  expected: KindInfo | undefined,
): StatusError {
  if (expected === undefined) return badRequest(unregistered({ apiVersion, kind }));
  const fault = groupVersionFault(apiVersion);
  if (fault !== undefined) return unrecognized(expected.kind, text(), fault);
  const { version } = parseGroupVersion(apiVersion);
  return unhandled({ kind, version }, expected, inScheme({ apiVersion, kind }));
}

/** Throws 400 where the expected kind is a custom one, of whose Protobuf even 1.24 finds no more than the envelope. */
function requireMessage(bytes: Buffer, expected: KindInfo | undefined): void {
  if (expected?.type.prune === undefined) return;
  const { apiVersion, kind } = envelopeOf(bytes, expected);
  const { version } = parseGroupVersion(apiVersion);
  throw unhandled({ kind, version }, expected, "Object 'Kind' is missing in 'object has no kind field '");
}

function groupVersionFault(apiVersion: string): string | undefined {
  return apiVersion.split('/').length > 2 ? `unexpected GroupVersion string: ${apiVersion}` : undefined;
}

/** Groups whose servers know the kinds of no other group but meta, nor other groups theirs. */
const ownSchemes: ReadonlySet<GroupKey> = new Set<GroupKey>(['apiextensions', 'apiregistration']);

/** 400 for an object of another kind than the expected one, in the words of 1.24. `apiVersion`: what the object says. */
function otherKind(given: KindInfo, expected: KindInfo, apiVersion: string): StatusError {
  if (expected.group === 'meta' && given.group === 'meta') {
    return badRequest(conversion(given, expected.type.goName));
  }
  // Options are of a group of their own where they do not tell it.
  if (expected.group === 'meta') {
    return badRequest(inScheme({ kind: given.kind, apiVersion: apiVersion || `meta.k8s.io/${expected.version}` }));
  }
  const apart = given.type.prune !== undefined || (isApart(given, expected) && !isShared(given, expected, apiVersion));
  // Both forms of events are of the core group inside.
  const internal = `${expected.group === 'events' ? 'core' : expected.group}.${expected.kind}`;
  return unhandled(
    given,
    expected,
    apart ? inScheme({ ...given, apiVersion: apiVersion || given.apiVersion }) : conversion(given, internal),
  );
}

function isApart(given: KindInfo, expected: KindInfo): boolean {
  return given.group !== expected.group && (ownSchemes.has(given.group) || ownSchemes.has(expected.group));
}

/** Whether a kind of the meta group is one of the expected kind's group, too. */
function isShared(given: KindInfo, expected: KindInfo, apiVersion: string): boolean {
  if (given.group !== 'meta') return false;
  const { group } = parseGroupVersion(apiVersion);
  return group === '' || group === expected.groupName;
}

function unhandled(given: Pick<KindInfo, 'kind' | 'version'>, expected: KindInfo, why: string): StatusError {
  // Options are read by another way, whose callers say no more than that.
  if (expected.group === 'meta') return badRequest(why);
  const what = `${given.kind} in version "${given.version}" cannot be handled as a ${expected.kind}: ${why}`;
  return badRequest(what, new DecodeError(why));
}

function conversion(given: KindInfo, into: string): string {
  return `converting (${given.type.goName}) to (${into}): unknown conversion`;
}

function unregistered({ apiVersion, kind }: Pick<KindInfo, 'apiVersion' | 'kind'>): string {
  return `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)}`;
}

function inScheme(kind: Pick<KindInfo, 'apiVersion' | 'kind'>): string {
  return `${unregistered(kind)} in scheme "pkg/runtime/scheme.go:100"`;
}

/** An object with its kind, unless it is of the few kinds that do not carry their own (`WatchEvent`). */
function named(kind: KindInfo, object: JsonObject): JsonObject {
  if (kind.type.prune !== undefined) return withoutReset(object);
  return kind.type.isKind ? { kind: kind.kind, apiVersion: kind.apiVersion, ...object } : object;
}

/** Lists without managers say nothing in custom objects, whose metadata 1.24 writes anew before it looks for them. */
function withoutReset(object: JsonObject): JsonObject {
  const { metadata } = object;
  if (isJsonObject(metadata) && Array.isArray(metadata['managedFields']) && metadata['managedFields'].length === 0)
    Reflect.deleteProperty(metadata, 'managedFields');
  return object;
}

function* documentOf(text: string, { expected, yamlFault }: DecodeOptions): Steps<ReadYAML> {
  try {
    if (yamlFault !== undefined) throw yamlFault;
    return yield* readYAMLSteps(text);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    if (expected === undefined) throw badRequest(error.message, error);
    throw unrecognized(expected.kind, text, error.message, error);
  }
}

function* parsedJSON(json: Buffer): Steps<unknown> {
  try {
    return yield* parseJSONSteps(json, 'literals');
  } catch (error) {
    const reason = messageOf(error);
    throw badRequest(`couldn't get version/kind; json parse error: ${reason}`, error);
  }
}

interface Named {
  readonly apiVersion: string;
  readonly kind: string;
  readonly object: JsonObject;
}

/**
 * As 1.24 says it of custom objects: 400 for none and for another version, 422 for another kind; for both where a patch has
 * brought it.
 */
function requireNames(expected: KindInfo, named: Named, text: () => string, isPatched: boolean): void {
  const { apiVersion, kind, object } = named;
  if (kind === '')
    throw decodeFailure(expected.type, new DecodeError(`Object 'Kind' is missing in '${excerpt(text())}'`));
  const fault = groupVersionFault(apiVersion);
  if (fault !== undefined) throw unrecognized(expected.kind, text(), fault, new DecodeError(fault));
  if (apiVersion !== expected.apiVersion && (!isPatched || apiVersion === '')) throw otherVersion(apiVersion, expected);
  const failures = (['kind', 'apiVersion'] as const)
    .filter((field) => named[field] !== expected[field])
    .map((field) => invalidValue(FieldPath.of(field), named[field], `must be ${expected[field]}`));
  if (failures.length === 0) return;
  const { metadata } = object;
  const name = typeof metadata === 'object' && metadata !== null ? textOf(Reflect.get(metadata, 'name')) : '';
  throw invalid({ group: parseGroupVersion(apiVersion).group, kind }, name, failures);
}

function otherVersion(given: string, expected: KindInfo): StatusError {
  return badRequest(
    `the API version in the data (${given}) does not match the expected API version (${expected.apiVersion})`,
  );
}
