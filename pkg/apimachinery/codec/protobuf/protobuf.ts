/**
 * Encodes and decodes enveloped objects, either whole or as lists of encoded messages.
 *  Not protobufjs, which is used for container runtimes: it does not sort map keys like 1.24, and decodes into its own
 *  classes, which would need conversion to the canonical form, where times, quantities and the like are plain JSON.
 *  This code follows the same declared types as the JSON decoder.
 */

import { StepBudget, type Steps } from '#apimachinery/async/steps.js';
import { DecodeError, decodeFailure } from '#apimachinery/codec/json/decode-error.js';
import { unrecognized } from '#apimachinery/codec/json/json.js';
import type { JsonObject } from '#apimachinery/codec/json/walk.js';
import { decodeInto } from '#apimachinery/codec/protobuf/decode.js';
import { encodeMessage, writeMessage } from '#apimachinery/codec/protobuf/encode.js';
import {
  decodeEnvelope,
  type Envelope,
  encodeEnvelope,
  envelopeAround,
  hasEnvelope,
} from '#apimachinery/codec/protobuf/envelope.js';
import type { LateEntry, MessageOptions, RawReader, ReadOptions } from '#apimachinery/codec/protobuf/reader.js';
import { tag, wire } from '#apimachinery/codec/protobuf/writer.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { badRequest } from '#apimachinery/errors/status.js';
import { oncePer } from '#apimachinery/memo/once-per.js';
import type { KindInfo, Scheme } from '#apimachinery/schema/scheme.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';

/** The kind of an object to encode. */
export interface KindNames {
  readonly apiVersion: string;
  readonly kind: string;
  readonly type: TypeInfo;
}

/** Encodes an object with envelope. Throws an EncodeError if the object violates the type. */
export function encodeProtobuf(names: KindNames, object: unknown): Buffer {
  return encodeEnvelope(names.apiVersion, names.kind, (writer) => writeMessage(writer, names.type, object));
}

/** Field number of the items of nearly all lists. */
const usualItems = 2;

/** Field number of a list's items. */
export function itemsNumber(list: TypeInfo): number {
  return list.byName.get('items')?.number ?? usualItems;
}

/** The bytes before and after the items of an enveloped list, whose items take `itemBytes` including their heads. */
export function protobufListEnds(
  names: KindNames,
  metadata: unknown,
  itemBytes: number,
): { readonly head: Buffer; readonly tail: Buffer } {
  const own = encodeMessage(names.type, { metadata });
  const { before, after } = envelopeAround(names.apiVersion, names.kind, own.length + itemBytes);
  // Fields are written in the order of their numbers.
  return itemsNumber(names.type) < (names.type.byName.get('metadata')?.number ?? 0)
    ? { head: before, tail: Buffer.concat([own, after]) }
    : { head: Buffer.concat([before, own]), tail: after };
}

/** A message as a list item, with key and length, in a buffer of its own. */
export function protobufItem(message: Buffer, number = usualItems): Buffer {
  let head = 2;
  for (let rest = message.length; rest >= 0x80; rest = Math.floor(rest / 0x80)) head++;
  // Not from Node's shared pool: items are long-lived.
  const item = Buffer.allocUnsafeSlow(head + message.length);
  let at = 0;
  item[at++] = tag(number, wire.delimited);
  let rest = message.length;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) item[at++] = (rest % 0x80) | 0x80;
  item[at] = rest;
  message.copy(item, head);
  return item;
}

/** The message inside the result of `protobufItem`. */
export function protobufItemMessage(item: Buffer): Buffer {
  let at = 1;
  while (((item[at] ?? 0) & 0x80) !== 0) at++;
  return item.subarray(at + 1);
}

/** Decodes enveloped objects in raw fields, including `apiVersion` and `kind`. */
export const rawReader: (scheme: Scheme) => RawReader = oncePer(
  (scheme: Scheme) => (bytes, depth) =>
    hasEnvelope(bytes) ? decodeEnveloped(scheme, bytes, undefined, {}, depth).object : undefined,
);

/** Decodes an enveloped object; `expected` supplies a missing `apiVersion` and `kind`. Throws 400 BadRequest. */
export function decodeProtobuf(
  scheme: Scheme,
  bytes: Buffer,
  expected?: KindInfo,
  options: ReadOptions = {},
): { kind: KindInfo; object: JsonObject } {
  try {
    return decodeEnveloped(scheme, bytes, expected, options);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw expected === undefined ? badRequest(error.message, error) : decodeFailure(expected.type, error);
  }
}

/** `decodeProtobuf` in steps: decodes large maps part by part. */
export function* decodeProtobufSteps(
  scheme: Scheme,
  bytes: Buffer,
  expected: KindInfo,
  options: ReadOptions,
): Steps<{ kind: KindInfo; object: JsonObject }> {
  const late: LateEntry[] = [];
  const budget = new StepBudget();
  try {
    const decoded = decodeEnveloped(scheme, bytes, expected, { ...options, late });
    for (const read of late) {
      if (budget.spend(1)) yield;
      read();
    }
    return decoded;
  } catch (error) {
    throw error instanceof DecodeError ? decodeFailure(expected.type, error) : error;
  }
}

/** Throws 400 for bytes without recognizable envelope. */
export function envelopeOf(bytes: Buffer, { kind }: KindInfo): Envelope {
  try {
    return decodeEnvelope(bytes);
  } catch (error) {
    throw error instanceof DecodeError ? unrecognized(kind, bytes, error.message, error) : error;
  }
}

function decodeEnveloped(
  scheme: Scheme,
  bytes: Buffer,
  expected: KindInfo | undefined,
  options: ReadOptions & Pick<MessageOptions, 'late'>,
  depth?: number,
): { kind: KindInfo; object: JsonObject } {
  const envelope = expected === undefined ? decodeEnvelope(bytes) : envelopeOf(bytes, expected);
  const { contentType } = envelope;
  const { protobufMediaType } = kubernetesDialect;
  if (contentType !== '' && contentType !== scheme.dialect.protobufMediaType && contentType !== protobufMediaType) {
    throw new DecodeError(`content type ${JSON.stringify(contentType)} inside Protobuf is not supported`);
  }
  const apiVersion = envelope.apiVersion || (expected?.apiVersion ?? '');
  const kind = envelope.kind || (expected?.kind ?? '');
  const info = scheme.kind(apiVersion, kind);
  if (info === undefined)
    throw new DecodeError(`no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)}`);
  const object: JsonObject = info.type.isKind ? { kind: info.kind, apiVersion: info.apiVersion } : {};
  decodeInto(object, info.type, envelope.raw, { ...options, raw: rawReader(scheme), depth });
  return { kind: info, object };
}
