/** A server's answers without the parts that differ between runs. */
import { parse } from 'yaml';
import type { ObjectCodec } from '#apimachinery/codec/object-codec.js';
import type { Step } from '#test/integration/apiserver/peer/case.js';
import { changes, sorted } from '#test/integration/apiserver/peer/changes.js';
import { shortHash } from '#test/integration/apiserver/peer/generate/hash.js';
import { type Given, neutralObject, neutralText } from '#test/integration/apiserver/peer/neutral.js';

export interface WireAnswer {
  readonly status: number;
  readonly contentType: string;
  /** Values of `Warning` headers. */
  readonly warnings: string;
  readonly body: Buffer;
}

/** An answer as recorded and compared. */
export interface KeptAnswer {
  readonly code: number;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: unknown;
  /** Differences between the object and what was last sent or answered; or the text if it is not an object. */
  readonly changes?: Readonly<Record<string, unknown>>;
  readonly text?: string;
  readonly contentType?: string;
  readonly warnings?: string;
}

export interface ReadAnswer {
  readonly kept: KeptAnswer;
  /** Hash of the managed fields; empty if there are none. */
  readonly managers: string;
  /** The object as received. */
  readonly object: JsonObject | undefined;
}

type JsonObject = Record<string, unknown>;

/** `base` is the object to compare with. */
export function readAnswer(
  answer: WireAnswer,
  step: Step,
  base: unknown,
  given: Given,
  codec: ObjectCodec,
): ReadAnswer {
  const { status: code, contentType } = answer;
  const type = contentType.split(';')[0] ?? '';
  const warnings = answer.warnings === '' ? {} : { warnings: neutralText(answer.warnings, given) };
  const common = { code, ...(type === 'application/json' ? {} : { contentType: type }), ...warnings };
  const object = parsed(answer, type, codec);
  if (object === undefined) {
    const text = neutralText(answer.body.toString(), given);
    return { kept: { ...common, ...(text === '' || step.method === 'HEAD' ? {} : { text }) }, managers: '', object };
  }
  if (object['kind'] === 'Status' && object['status'] === 'Failure') {
    const { reason, message, details } = neutralObject(object, given).object;
    const failure = { reason: reason as string, message: message as string, details: sortedCauses(details) };
    return { kept: { ...common, ...failure }, managers: '', object: undefined };
  }
  const { object: neutral, managers } = neutralObject(object, given);
  const kept = { ...common, changes: changes(neutralObject(asObject(base), given).object, neutral) };
  return {
    kept,
    managers: managers.length === 0 ? '' : hashOf(managers),
    object,
  };
}

function asObject(value: unknown): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}

function parsed({ body }: WireAnswer, type: string, codec: ObjectCodec): JsonObject | undefined {
  try {
    if (type.endsWith('protobuf')) return codec.decode(body, { encoding: 'protobuf' }).object;
    const text = body.toString();
    const value: unknown =
      type === 'application/json' ? JSON.parse(text) : type === 'application/yaml' ? parse(text) : undefined;
    return typeof value === 'object' && value !== null ? (value as JsonObject) : undefined;
  } catch {
    // Kept as text, which shows the difference.
    return undefined;
  }
}

/**
 * Reasons and fields of causes, whose texts are in the message. Repetitions and order are ignored, since they may come from
 * unordered maps.
 */
function sortedCauses(details: unknown): unknown {
  if (typeof details !== 'object' || details === null) return details;
  const { causes } = details as { causes?: { reason?: string; field?: string }[] };
  if (causes === undefined) return details;
  return {
    ...details,
    causes: [...new Set(causes.map(({ reason = '', field = '' }) => `${field}: ${reason}`))].sort(),
  };
}

/** Managers are sorted by second of their writes, which is arbitrary for writes close together. */
function hashOf(managers: readonly unknown[]): string {
  const entries = managers.map((entry) => JSON.stringify(sorted(entry))).sort();
  return shortHash(entries.join('\n')).slice(0, 6);
}
