/** Encodes and decodes objects of a scheme in any encoding, for the API server and its clients. */

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
import { yamlText } from '#apimachinery/codec/yaml/encoding.js';
import { encodeYAML, type ReadYAML, readYAMLSteps } from '#apimachinery/codec/yaml.js';
import type { GroupKey } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { badRequest, invalid, type StatusError } from '#apimachinery/errors/status.js';
import { parseGroupVersion } from '#apimachinery/group-version.js';
import { toJSONText } from '#apimachinery/json-text.js';
import type { KindInfo, Scheme } from '#apimachinery/schema/scheme.js';
import { invalidValue } from '#apimachinery/validation/failure.js';
import { FieldPath } from '#apimachinery/validation/path.js';

/** Options of decoding; those of `ParsedValue` are for values that are parsed already. */
export interface DecodeOptions extends ParsedValue {
  readonly encoding: Encoding;
  /** The expected kind, also assumed for an object without kind. */
  readonly expected?: KindInfo;
  readonly validation?: FieldValidation;
  /** The YAML error of an earlier attempt to read the body. */
  readonly yamlFault?: DecodeError | undefined;
}

export interface DecodedObject {
  /** Canonical, with `apiVersion` and `kind`. */
  readonly object: JsonObject;
  readonly kind: KindInfo;
  /** Texts for `Warning` headers. */
  readonly warnings: string[];
}

/** The text of a document. Invalid bytes count as a fault of it, which is reported later. */
function textOfYAML(bytes: Buffer, options: DecodeOptions): { readonly text: string; readonly options: DecodeOptions } {
  try {
    return { text: yamlText(bytes), options };
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return { text: bytes.toString('utf8'), options: { ...options, yamlFault: options.yamlFault ?? error } };
  }
}

/** The beginning of a text for messages. */
function excerpt(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

function stringOrEmpty(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export class ObjectCodec {
  readonly scheme: Scheme;
  readonly #reading: ReadOptions;
  readonly #custom: Pick<Scheme, 'kind'> | undefined;

  /** `reading`: options of Protobuf decoding. `custom`: kinds outside of the scheme. */
  constructor(scheme: Scheme, reading: ReadOptions = {}, custom?: Pick<Scheme, 'kind'>) {
    this.scheme = scheme;
    this.#reading = reading;
    this.#custom = custom;
  }

  /** Decodes an object. Throws 400 BadRequest. */
  decode(bytes: Buffer, options: DecodeOptions): DecodedObject {
    return allSteps(this.decodeSteps(bytes, options));
  }

  /** `decode` in steps, each proportional to the size of the text, so that other work can run in between. */
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
    // The kind is known only after parsing, and is nearly always the expected one.
    return this.#expected(() => json.toString(), yield* decodeJSONSteps(json, expected.type, validation), expected);
  }

  #yaml(document: string, { value, repeated }: ReadYAML, options: DecodeOptions): DecodedObject {
    return this.decodeValue(value, { ...options, document, repeatedKeys: options.repeatedKeys ?? repeated });
  }

  #expected(text: () => string, { object, warnings }: Decoded, expected: KindInfo): DecodedObject {
    if (stringOrEmpty(object.kind) === expected.kind && object.apiVersion === expected.apiVersion) {
      return { object: named(expected, object), kind: expected, warnings };
    }
    const kind = this.#kindOf(object, text, expected);
    this.#check(kind, expected, object);
    return { object: named(kind, object), kind, warnings };
  }

  /** Decodes a parsed value, which may be modified. */
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
    // Custom objects must name their kind, as in 1.24.
    const assumed = expected?.type.prune === undefined ? expected : undefined;
    const kind = stringOrEmpty(object.kind) || (assumed?.kind ?? '');
    const apiVersion = stringOrEmpty(object.apiVersion) || (assumed?.apiVersion ?? '');
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
    throw otherKind(kind, expected, stringOrEmpty(object.apiVersion));
  }

  /** The encoded object. `names` supplies its kind if the object itself lacks it. */
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

/** 400 for an object of an unknown kind, with 1.24's message if another kind was expected. */
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

/** Throws 400 if the expected kind is custom: even 1.24 decodes only the envelope of its Protobuf. */
function requireMessage(bytes: Buffer, expected: KindInfo | undefined): void {
  if (expected?.type.prune === undefined) return;
  const { apiVersion, kind } = envelopeOf(bytes, expected);
  const { version } = parseGroupVersion(apiVersion);
  throw unhandled({ kind, version }, expected, "Object 'Kind' is missing in 'object has no kind field '");
}

function groupVersionFault(apiVersion: string): string | undefined {
  return apiVersion.split('/').length > 2 ? `unexpected GroupVersion string: ${apiVersion}` : undefined;
}

/** Groups whose servers have separate schemes: they know only their own kinds and those of meta. */
const ownSchemes: ReadonlySet<GroupKey> = new Set<GroupKey>(['apiextensions', 'apiregistration']);

/** 400 for an object of another than the expected kind, in the words of 1.24. `apiVersion`: as in the object. */
function otherKind(given: KindInfo, expected: KindInfo, apiVersion: string): StatusError {
  if (expected.group === 'meta' && given.group === 'meta') {
    return badRequest(conversion(given, expected.type.goName));
  }
  // Options without a version belong to a group of their own.
  if (expected.group === 'meta') {
    return badRequest(inScheme({ kind: given.kind, apiVersion: apiVersion || `meta.k8s.io/${expected.version}` }));
  }
  const apart = given.type.prune !== undefined || (isApart(given, expected) && !isShared(given, expected, apiVersion));
  // Both versions of events belong to the core group internally.
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

/** Whether a meta kind also belongs to the group of the expected kind. */
function isShared(given: KindInfo, expected: KindInfo, apiVersion: string): boolean {
  if (given.group !== 'meta') return false;
  const { group } = parseGroupVersion(apiVersion);
  return group === '' || group === expected.groupName;
}

function unhandled(given: Pick<KindInfo, 'kind' | 'version'>, expected: KindInfo, why: string): StatusError {
  // Options are decoded elsewhere, with this message only.
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

/** The object with its kind, except for kinds that do not carry it (`WatchEvent`). */
function named(kind: KindInfo, object: JsonObject): JsonObject {
  if (kind.type.prune !== undefined) return withoutReset(object);
  return kind.type.isKind ? { kind: kind.kind, apiVersion: kind.apiVersion, ...object } : object;
}

/** Drops an empty managedFields list of a custom object: 1.24 rewrites the metadata before it looks for managers. */
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
 * The errors of 1.24 for custom objects: 400 for a missing kind or another version, 422 for another kind, and 422 for
 * both if a patch caused it.
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
  const name = typeof metadata === 'object' && metadata !== null ? stringOrEmpty(Reflect.get(metadata, 'name')) : '';
  throw invalid({ group: parseGroupVersion(apiVersion).group, kind }, name, failures);
}

function otherVersion(given: string, expected: KindInfo): StatusError {
  return badRequest(
    `the API version in the data (${given}) does not match the expected API version (${expected.apiVersion})`,
  );
}
