/**
 * Reviews sent to conversion webhooks, and their answers, as JSON (`ConversionReview` of `apiextensions.…/v1` and `v1beta1`).
 * Pure. Source: 1.24, staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/conversion/webhook_converter.go.
 */

import type { ReviewVersion } from '#api/admissionregistration/v1/webhook/review-versions.js';
import type { ApiObjectShape } from '#api/meta/object.js';
import { validateAnnotations, validateLabels } from '#api/meta/v1/objectmeta/validation.js';
import { isJsonObject, type JsonObject } from '#apimachinery/codec/json/walk.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { goTypeOf } from '#apimachinery/errors/go-value.js';
import { checkValueDepth } from '#apimachinery/patch/json-values.js';
import { FieldPath } from '#apimachinery/validation/path.js';
import { kindText, textOf } from '#apiserver/webhooks/review.js';

export interface ConversionQuestion {
  readonly uid: string;
  readonly version: ReviewVersion;
  readonly desiredAPIVersion: string;
  /** JSON of each object. */
  readonly objects: readonly string[];
}

export function conversionText(dialect: Dialect, question: ConversionQuestion): string {
  const { uid, version, desiredAPIVersion, objects } = question;
  const head = JSON.stringify({ kind: 'ConversionReview', apiVersion: dialect.apiVersion('apiextensions', version) });
  const request = JSON.stringify({ uid, desiredAPIVersion });
  // The objects are JSON already.
  return `${head.slice(0, -1)},"request":${request.slice(0, -1)},"objects":[${objects.join(',')}]}}`;
}

const maxMessageChars = 4096;

/** The converted objects, unchecked. Throws an Error in 1.24's words if there are none. */
export function convertedObjects(
  dialect: Dialect,
  answer: unknown,
  { version, uid }: Pick<ConversionQuestion, 'version' | 'uid'>,
): readonly unknown[] {
  const review = isJsonObject(answer) ? answer : {};
  // Answers of v1beta1 may omit their kind.
  if (version === 'v1') {
    const expected = kindText(dialect.apiVersion('apiextensions', version), 'ConversionReview');
    const received = kindText(review['apiVersion'], review['kind']);
    if (received !== expected) throw new Error(`expected webhook response of ${expected}, got ${received}`);
  }
  const response = review['response'];
  if (!isJsonObject(response)) throw new Error('no response provided');
  if (version === 'v1' && response['uid'] !== uid) {
    throw new Error(`expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(textOf(response['uid']))}`);
  }
  const result = isJsonObject(response['result']) ? response['result'] : {};
  if (result['status'] !== 'Success') {
    const message = textOf(result['message'], maxMessageChars);
    throw new Error(
      message === '' ? `response.result.status was '${textOf(result['status'])}', not 'Success'` : message,
    );
  }
  const objects = response['convertedObjects'];
  return Array.isArray(objects) ? objects : [];
}

/** A webhook returned an object that is not a valid conversion. */
export class WrongConversion extends Error {
  /** The invalid part; 1.24's message depends on it. */
  readonly part: 'type' | 'object' | 'metadata';

  constructor(part: 'type' | 'object' | 'metadata', why: string) {
    super(why);
    this.part = part;
  }
}

/** The message after `conversion webhook for … returned `, for one object, or for that at `index` of a list. */
export function wrongText({ part, message }: WrongConversion, index: number | undefined): string {
  if (index === undefined) return `invalid ${part === 'type' ? 'object at index 0' : part}: ${message}`;
  return `invalid ${part === 'metadata' ? 'metadata in object' : 'converted object'} at index ${index}: ${message}`;
}

/**
 * The converted object with the original's metadata, of which a webhook may change only labels and annotations. Throws
 * WrongConversion for a non-object, another version, or another object.
 */
export function restored(original: ApiObjectShape, converted: unknown, desiredAPIVersion: string): ApiObjectShape {
  if (!isJsonObject(converted)) throw new WrongConversion('object', 'it is not an object');
  checkDepth(converted);
  const { apiVersion, kind } = converted;
  if (apiVersion !== desiredAPIVersion) {
    const both = `expected ${desiredAPIVersion}, received ${textOf(apiVersion)}`;
    throw new WrongConversion('type', `invalid groupVersion (${both})`);
  }
  if (kind !== original.kind) {
    throw new WrongConversion('type', `invalid kind (expected ${original.kind}, received ${textOf(kind)})`);
  }
  const { metadata } = converted;
  if (metadata === undefined) throw new WrongConversion('metadata', 'missing metadata in converted object');
  if (!isJsonObject(metadata)) throw wrongTypeError('metadata', metadata);
  const oldMetadata = original.metadata as unknown as JsonObject;
  for (const name of ['name', 'namespace', 'uid']) {
    const [was, is] = [oldMetadata[name] ?? '', metadata[name] ?? ''];
    if (was === is) continue;
    const label = name === 'uid' ? 'UID' : name;
    throw new WrongConversion('object', `must have the same ${label}: ${textOf(was)} != ${textOf(is)}`);
  }
  const { labels: _labels, annotations: _annotations, ...systemFields } = oldMetadata;
  const texts = { ...textsIn(metadata, 'labels'), ...textsIn(metadata, 'annotations') };
  return { ...converted, metadata: { ...systemFields, ...texts } } as unknown as ApiObjectShape;
}

function checkDepth(value: object): void {
  try {
    checkValueDepth(value);
  } catch (error) {
    throw new WrongConversion('object', error instanceof Error ? error.message : String(error));
  }
}

const validateTexts = { labels: validateLabels, annotations: validateAnnotations };

function textsIn(metadata: JsonObject, name: 'labels' | 'annotations'): JsonObject {
  const value = metadata[name];
  if (value === undefined || value === null) return {};
  if (!isJsonObject(value)) throw wrongTypeError(`metadata.${name}`, value);
  for (const key of Object.keys(value)) {
    if (typeof value[key] === 'string') continue;
    const why = `metadata.${name}[${textOf(key)}] must be a string, but is ${goTypeOf(value[key])} in converted object`;
    throw new WrongConversion('metadata', why);
  }
  const failures = validateTexts[name](value as Record<string, string>, FieldPath.of('metadata', name));
  const texts = failures.map(({ field, message }) => `${field}: ${message}`);
  if (texts.length > 0)
    throw new WrongConversion('metadata', texts.length === 1 ? `${texts[0]}` : `[${texts.join(', ')}]`);
  return { [name]: value };
}

function wrongTypeError(path: string, value: unknown): WrongConversion {
  return new WrongConversion('metadata', `invalid ${path} of type ${goTypeOf(value)} in converted object`);
}
