/**
 * Feeds broken objects to a decoder. The decoder must refuse them with a typed error or return an object that both
 * encodings can carry; it must not read beyond its input, must finish in time, and must not expand small input into
 * large objects.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { schemeFor } from '#api/scheme.js';
import type { Clock } from '#apimachinery/clock.js';
import { isJsonObject } from '#apimachinery/codec/json/walk.js';
import { ObjectCodec } from '#apimachinery/codec/object-codec.js';
import { encodeEnvelope } from '#apimachinery/codec/protobuf/envelope.js';
import { tag, wire } from '#apimachinery/codec/protobuf/writer.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { statusOf } from '#apimachinery/errors/status.js';
import { toJSONText } from '#apimachinery/json-text.js';
import type { KindInfo } from '#apimachinery/schema/scheme.js';
import type { FieldInfo, TypeInfo } from '#apimachinery/schema/type-info.js';
import { RandomObjects } from '#apimachinery/testing/random-object.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import { root } from '#test/e2e/harness.js';
import { below, mutate } from '#test/fuzz/mutate.js';

export type Format = 'json' | 'protobuf';

export interface FuzzOptions {
  readonly format: Format;
  readonly seed: number;
  readonly milliseconds: number;
  readonly clock: Clock;
  /** Called before each input, to monitor progress. */
  readonly onInput?: (count: number) => void;
}

export interface FuzzResult {
  readonly inputs: number;
  /** Number of refused inputs. */
  readonly refused: number;
  /** Time of the slowest input; ms. */
  readonly slowest: number;
}

/** An input that violates a property; the message names it and quotes the beginning of the input in base64. */
export class FuzzFailure extends Error {
  override readonly name = 'FuzzFailure';

  constructor(what: string, input: Buffer, cause?: unknown) {
    const shown = input.subarray(0, 600).toString('base64');
    super(`${what}\n${input.length} bytes in base64: ${shown}${input.length > 600 ? '…' : ''}`, { cause });
  }
}

/** Far more than 64 kB need, even on a busy machine. */
const maxMilliseconds = 3000;
/** An empty element of two bytes can become a whole object of zero values. */
const maxGrowth = 600;

const codec = new ObjectCodec(schemeFor(kubernetesDialect));

interface Sample {
  readonly bytes: Buffer;
  readonly kind: KindInfo;
}

function samples(format: Format, seed: number): Sample[] {
  const folder = join(root, 'pkg/apimachinery/codec/testdata');
  const result: Sample[] = [];
  for (const file of readdirSync(folder).filter((name) => name.endsWith(format === 'json' ? '.json' : '.pb'))) {
    const [group = '', version = '', name = ''] = file.split('.');
    const kind = codec.scheme.kind(group === 'core' ? version : `${group}/${version}`, name);
    if (kind !== undefined) result.push({ bytes: readFileSync(join(folder, file)), kind });
  }
  const objects = new RandomObjects(seededRandom(seed));
  for (const kind of codec.scheme.kinds) {
    const object = { kind: kind.kind, apiVersion: kind.apiVersion, ...objects.object(kind.type) };
    result.push({ bytes: codec.encode(object, kind, format), kind });
  }
  if (format === 'protobuf') result.push(...nestedEnvelopes());
  return result;
}

/** Objects nested in raw fields: at several depths, and far deeper than any reader should follow. */
function nestedEnvelopes(): Sample[] {
  const kind = codec.scheme.kind('apps/v1', 'ControllerRevision');
  if (kind === undefined) throw new Error('no kind with a raw field');
  return [3, 200, 4000].map((levels) => {
    let bytes: Buffer = Buffer.alloc(0);
    for (let level = 0; level < levels; level++) {
      const inner = bytes;
      bytes = encodeEnvelope(kind.apiVersion, kind.kind, (writer) => {
        const end = writer.length;
        writer.bytes(inner);
        // data.raw: field 1 inside field 2.
        for (const number of [1, 2]) {
          writer.varint(writer.length - end);
          writer.varint(tag(number, wire.delimited));
        }
      });
    }
    return { bytes, kind };
  });
}

/** Mutates objects until the time is over. Throws a FuzzFailure. */
export function fuzz({ format, seed, milliseconds, clock, onInput }: FuzzOptions): FuzzResult {
  const random = seededRandom(seed);
  const all = samples(format, seed);
  const end = clock.monotonic() + milliseconds;
  const result = { inputs: 0, refused: 0, slowest: 0 };
  while (clock.monotonic() < end) {
    const sample = all[below(random, all.length)];
    const other = all[below(random, all.length)];
    if (sample === undefined || other === undefined) throw new Error('no samples');
    onInput?.(result.inputs++);
    const input = mutate(format, sample.bytes, random, other.bytes);
    const started = clock.monotonic();
    if (!check(format, input, sample.kind)) result.refused++;
    const took = clock.monotonic() - started;
    if (took > maxMilliseconds) throw new FuzzFailure(`${took.toFixed(0)} ms`, input);
    result.slowest = Math.max(result.slowest, took);
  }
  return result;
}

/** True if the input is a valid object after all. */
function check(format: Format, input: Buffer, expected: KindInfo): boolean {
  const outcome = attempt(format, input, expected);
  if (format === 'protobuf') {
    // Embeds the input between other bytes.
    const inside = Buffer.concat([Buffer.alloc(64, 0x0a), input, Buffer.alloc(64, 0x0a)]);
    const again = attempt(format, inside.subarray(64, -64), expected);
    if (again.text !== outcome.text) throw new FuzzFailure('bytes beside the input are read', input);
  }
  if (outcome.object === undefined) return false;
  if (outcome.text.length > 4096 + input.length * maxGrowth) {
    throw new FuzzFailure(`${input.length} bytes become ${outcome.text.length}`, input);
  }
  carried(outcome.object, outcome.kind ?? expected, input);
  return true;
}

interface Outcome {
  /** The object, or the refusal's message. */
  readonly text: string;
  readonly object?: Record<string, unknown>;
  readonly kind?: KindInfo;
}

function attempt(format: Format, input: Buffer, expected: KindInfo): Outcome {
  try {
    const { object, kind } = codec.decode(input, { encoding: format, expected, validation: 'Warn' });
    return { text: toJSONText(object), object, kind };
  } catch (error) {
    const status = statusOf(error);
    if (status?.code !== 400) throw new FuzzFailure('not a refusal', input, error);
    return { text: status.message ?? '' };
  }
}

/** An accepted object must survive both encodings. */
function carried(object: Record<string, unknown>, kind: KindInfo, input: Buffer): void {
  for (const encoding of ['json', 'protobuf'] as const) {
    let text: string;
    let first: string;
    try {
      const once = codec.decode(codec.encode(object, kind, encoding), { encoding, expected: kind }).object;
      first = toJSONText(ordered(unnamed(once, kind.type)));
      text = toJSONText(ordered(unnamed(object, kind.type)));
    } catch (error) {
      // Each encoding counts nesting differently; an object within one limit may exceed the other.
      if (statusOf(error)?.message?.endsWith('exceeded max depth') === true) continue;
      throw new FuzzFailure(`an accepted object cannot be carried in ${encoding}`, input, error);
    }
    if (first !== text)
      throw new FuzzFailure(`${encoding} changes an accepted object: ${difference(text, first)}`, input);
  }
}

/**
 * Drops the kind, which Protobuf stores in the envelope, and the kinds of nested objects (items of lists, claim
 * templates, groups), which Protobuf does not store.
 */
function unnamed(value: Record<string, unknown>, type: TypeInfo): Record<string, unknown> {
  const result: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const [name, member] of Object.entries(value)) {
    const field = type.byName.get(name);
    if (field === undefined && type.isKind && (name === 'kind' || name === 'apiVersion')) continue;
    result[name] = field === undefined ? member : unnamedMember(member, field);
  }
  return result;
}

/** A field's value: a single one, a list or a map. */
function unnamedMember(member: unknown, { container, type }: FieldInfo): unknown {
  if (type?.shape !== 'struct') return member;
  const one = (value: unknown) => (isJsonObject(value) ? unnamed(value, type) : value);
  if (Array.isArray(member)) return member.map(one);
  if (container !== 'map' || !isJsonObject(member)) return one(member);
  return Object.fromEntries(Object.entries(member).map(([key, value]) => [key, one(value)]));
}

/**
 * Sorts members by name: JSON keeps the order of the input, Protobuf that of the fields. Drops empty lists, which
 * Protobuf cannot distinguish from absent ones.
 */
function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (typeof value !== 'object' || value === null) return value;
  const result: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const key of Object.keys(value).sort()) {
    const member: unknown = Reflect.get(value, key);
    if (!Array.isArray(member) || member.length > 0) result[key] = ordered(member);
  }
  return result;
}

function difference(a: string, b: string): string {
  let at = 0;
  while (a[at] === b[at] && at < a.length) at++;
  const from = Math.max(0, at - 60);
  return `…${a.slice(from, at + 60)}… becomes …${b.slice(from, at + 60)}…`;
}
