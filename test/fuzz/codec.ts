/**
 * Feeds broken objects to a decoder. Whatever they are, the decoder either refuses them with a typed error or gives an
 * object that both encodings can carry; it reads no byte beside its input, answers in time, and makes of little input no
 * large object.
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
  /** Called before each input, so that somebody can see that the run goes on. */
  readonly onInput?: (count: number) => void;
}

export interface FuzzResult {
  readonly inputs: number;
  /** How many of them were refused. */
  readonly refused: number;
  /** Time that the slowest took; ms. */
  readonly slowest: number;
}

/** An input that breaks a promise; the message says which, and the beginning of the input follows in base64. */
export class FuzzFailure extends Error {
  override readonly name = 'FuzzFailure';

  constructor(what: string, input: Buffer, cause?: unknown) {
    const shown = input.subarray(0, 600).toString('base64');
    super(`${what}\n${input.length} bytes in base64: ${shown}${input.length > 600 ? '…' : ''}`, { cause });
  }
}

/** Far beyond what 64 kB take, and beyond what a busy machine adds. */
const maxMilliseconds = 3000;
/** An empty element of two bytes can be a whole object of zeros. */
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

/** Objects inside raw fields of objects, and so on: some levels, and far more than any reader should follow. */
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

/** Breaks objects until the time is over. Throws a FuzzFailure. */
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

/** True when the input is an object after all. */
function check(format: Format, input: Buffer, expected: KindInfo): boolean {
  const outcome = attempt(format, input, expected);
  if (format === 'protobuf') {
    // The same between bytes that are not its own.
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
  /** The object, or the words of the refusal. */
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
      // Each encoding counts levels in its own way; what is just within the limit of one may be beyond the other's.
      if (statusOf(error)?.message?.endsWith('exceeded max depth') === true) continue;
      throw new FuzzFailure(`an accepted object cannot be carried in ${encoding}`, input, error);
    }
    if (first !== text)
      throw new FuzzFailure(`${encoding} changes an accepted object: ${difference(text, first)}`, input);
  }
}

/**
 * Without its kind, which Protobuf keeps in the envelope and not every decoder repeats, and without those of the kinds
 * inside it (items of lists, claim templates, groups), which Protobuf does not carry at all.
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

/** What a field holds: one value, or a list or a map of them. */
function unnamedMember(member: unknown, { container, type }: FieldInfo): unknown {
  if (type?.shape !== 'struct') return member;
  const one = (value: unknown) => (isJsonObject(value) ? unnamed(value, type) : value);
  if (Array.isArray(member)) return member.map(one);
  if (container !== 'map' || !isJsonObject(member)) return one(member);
  return Object.fromEntries(Object.entries(member).map(([key, value]) => [key, one(value)]));
}

/**
 * Members by name: their order is the input's in JSON and the fields' in Protobuf. Without empty lists, which Protobuf
 * cannot tell from absent ones.
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
