/** Reads the patch in a request's body and applies it to an object. */

import { inSteps, type MaybePromise, type Steps } from '#apimachinery/async/steps.js';
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import { DecodeError } from '#apimachinery/codec/json/decode-error.js';
import { duplicateKeys, repeatedKeysError } from '#apimachinery/codec/json/duplicates.js';
import { withNulls } from '#apimachinery/codec/json/empty-members.js';
import type { FieldValidation } from '#apimachinery/codec/json/json.js';
import { jsonSyntaxError } from '#apimachinery/codec/json/syntax-error.js';
import { parseJSONSteps } from '#apimachinery/codec/json/text.js';
import { isJsonObject, type JsonObject } from '#apimachinery/codec/json/walk.js';
import { bareMediaType } from '#apimachinery/codec/negotiate.js';
import { type ReadYAML, readYAMLSteps } from '#apimachinery/codec/yaml.js';
import { copyJsonSteps } from '#apimachinery/collections/copy.js';
import { setMember } from '#apimachinery/collections/set-member.js';
import { jsonName } from '#apimachinery/errors/go-value.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { badRequest, unsupportedMediaType } from '#apimachinery/errors/status.js';
import { toJSONText } from '#apimachinery/json-text.js';
import { jsonPatch } from '#apimachinery/patch/json-patch.js';
import { mergePatch } from '#apimachinery/patch/merge-patch.js';
import { strategicMergePatch } from '#apimachinery/patch/strategic-merge-patch.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';
import { toJSON, undecoded } from '#apiserver/bodies/parse-ahead.js';
import { type RequestContext, warn } from '#apiserver/http/request-context.js';
import { applyGate } from '#apiserver/registry/write-request.js';
import { pauseOf } from '#apiserver/registry/write-steps.js';

export type PatchKind = 'json' | 'merge' | 'strategic' | 'apply';

export interface Patch {
  readonly kind: PatchKind;
  readonly body: unknown;
  /** The text that `body` was parsed from. */
  readonly text: string;
  /** Paths of repeated members; empty for server-side apply. */
  readonly duplicates: readonly string[];
  /** Server-side apply only: keys that the configuration repeats (`ReadYAML`). */
  readonly repeatedKeys: readonly string[];
}

const mediaTypes: Readonly<Record<string, PatchKind>> = {
  'application/json-patch+json': 'json',
  'application/merge-patch+json': 'merge',
  'application/strategic-merge-patch+json': 'strategic',
  'application/apply-patch+yaml': 'apply',
};

const allKinds: readonly PatchKind[] = Object.values(mediaTypes);
const customKinds: readonly PatchKind[] = ['json', 'merge', 'apply'];

/** The kinds of patch that a resource supports: custom kinds have no merge strategies. */
export function patchKinds(
  { type }: { readonly type: TypeInfo },
  { gate }: { readonly gate: (name: string) => boolean },
): readonly PatchKind[] {
  const kinds = type.prune === undefined ? allKinds : customKinds;
  return gate(applyGate) ? kinds : kinds.filter((kind) => kind !== 'apply');
}

/** True for the media type of any kind of patch. */
export function isPatchType(contentType: string | undefined): boolean {
  return Object.hasOwn(mediaTypes, bareMediaType(contentType));
}

/** Throws 415 for other media types and 400 for an unreadable body. Long bodies are read in `turns`. */
export function readPatch(
  context: RequestContext,
  turns: TurnQueue,
  kinds: readonly PatchKind[] = allKinds,
): MaybePromise<Patch> {
  const steps = patchSteps(context, kinds);
  return inSteps(steps, pauseOf({ registry: { turns }, context }));
}

/** The request's kind of patch, one of `kinds`. Throws 415. */
export function patchKind(context: RequestContext, kinds: readonly PatchKind[]): PatchKind {
  const kind = mediaTypes[bareMediaType(context.request.headers['content-type'])];
  if (kind !== undefined && kinds.includes(kind)) return kind;
  const supported = Object.entries(mediaTypes).flatMap(([media, of]) => (kinds.includes(of) ? [media] : []));
  throw unsupportedMediaType(supported);
}

function* patchSteps(context: RequestContext, kinds: readonly PatchKind[]): Steps<Patch> {
  const kind = patchKind(context, kinds);
  const { body: bytes } = context.request;
  const text = bytes.toString();
  const { value: body, repeated } = yield* kind === 'apply' ? yaml(text) : json(bytes, kind);
  // For other patches, 1.24 reports a body that is not an object when it applies them.
  if (kind === 'merge' && (typeof body !== 'object' || body === null)) throw badRequest(notMergePatch);
  if (kind === 'apply' && body !== null && !isJsonObject(body)) {
    const why = `json: cannot unmarshal ${jsonName(body)} into Go value of type map[string]interface {}`;
    throw badRequest(`error decoding YAML: error unmarshaling JSON: while decoding JSON: ${why}`);
  }
  context.audit?.requestedValue(body);
  const duplicates = kind === 'apply' ? [] : yield* duplicateKeys(bytes, maxFindings);
  return { kind, body, text, duplicates, repeatedKeys: context.request.repeatedKeys ?? repeated };
}

const notMergePatch = 'Invalid JSON Patch';

/** 1.24 parses the numbers of a strategic patch, and keeps the literal text of those in other patches. */
function* json(bytes: Buffer, kind: PatchKind): Steps<ReadYAML> {
  try {
    return { value: yield* parseJSONSteps(bytes, kind === 'strategic' ? 'values' : 'literals'), repeated: [] };
  } catch (error) {
    const why = jsonSyntaxError(bytes) ?? messageOf(error);
    throw badRequest(kind === 'merge' ? notMergePatch : why, error);
  }
}

function* yaml(text: string): Steps<ReadYAML> {
  try {
    return yield* readYAMLSteps(text);
  } catch (error) {
    if (error instanceof DecodeError) throw badRequest(`${undecoded}${error.message}`, error);
    throw error;
  }
}

/** Limit of reported findings. */
const maxFindings = 100;

const operationMembers: ReadonlySet<string> = new Set(['op', 'path', 'from', 'value']);

/**
 * Findings about a patch other than server-side apply, in the words of 1.24: repeated members, of which the last counts, and
 * members that mean nothing in JSON patch operations. None with `Ignore`.
 */
export function patchFindings({ kind, body, duplicates }: Patch, validation: FieldValidation): string[] {
  if (kind === 'apply' || validation === 'Ignore') return [];
  const repeated = duplicates.map((path) => `duplicate field ${JSON.stringify(path)}`);
  if (kind !== 'json') return repeated;
  return [...unknownMembers(body), ...repeated].slice(0, maxFindings).map((finding) => `json patch ${finding}`);
}

function unknownMembers(operations: unknown): string[] {
  const findings: string[] = [];
  for (const [i, operation] of (Array.isArray(operations) ? operations : []).entries()) {
    if (!isJsonObject(operation)) continue;
    for (const name of Object.keys(operation)) {
      if (findings.length === maxFindings) return findings;
      if (!operationMembers.has(name)) findings.push(`unknown field ${JSON.stringify(`[${i}].${name}`)}`);
    }
  }
  return findings;
}

/** Reports repeated keys once the configuration could be applied: as warnings, or as 400 with `Strict`. */
export function reportRepeatedKeys(
  context: RequestContext,
  { repeatedKeys }: Patch,
  validation: FieldValidation,
): void {
  if (validation === 'Ignore' || repeatedKeys.length === 0) return;
  if (validation === 'Strict') {
    throw badRequest(`error strict decoding YAML: ${toJSON}${repeatedKeysError(repeatedKeys)}`);
  }
  for (const text of repeatedKeys) warn(context, text);
}

/**
 * The patched object, not yet normalized, sharing nothing with `object` or the patch. Server-side apply is not possible here:
 * it needs the fields' owners.
 */
export function* applyPatch(patch: Patch, object: object, type: TypeInfo): Steps<unknown> {
  const patched = patchedBy(patch, object, type);
  yield;
  return patched === undefined ? undefined : yield* copyJsonSteps(patched);
}

export interface Patched {
  readonly value: unknown;
  /** Parts of `value` that equal those of the object. */
  readonly unchanged: ReadonlySet<unknown>;
}

/** Like `applyPatch`; also returns the members that the patch left unchanged, which need no further check. */
export function* applyPatchTracking(patch: Patch, object: object, type: TypeInfo): Steps<Patched> {
  const patched = patchedBy(patch, object, type);
  yield;
  const unchanged = new Set<unknown>();
  if (!isJsonObject(patched)) {
    return { value: patched === undefined ? undefined : yield* copyJsonSteps(patched), unchanged };
  }
  const value: JsonObject = {};
  for (const key of Object.keys(patched)) {
    const part = patched[key];
    if (part === undefined) continue;
    const before = (object as JsonObject)[key];
    const copy = key === 'metadata' ? yield* ownMetadata(part, before, unchanged) : yield* copyJsonSteps(part);
    // Numbers and strings have no identity to track.
    if (part === before && typeof copy === 'object' && copy !== null) unchanged.add(copy);
    setMember(value, key, copy);
  }
  return { value, unchanged };
}

/** Field sets of unchanged managers stay shared, since nothing writes into them. */
function* ownMetadata(metadata: unknown, before: unknown, unchanged: Set<unknown>): Steps<unknown> {
  if (!isJsonObject(metadata) || !isJsonObject(before)) return yield* copyJsonSteps(metadata);
  const { managedFields, ...others } = metadata;
  if (!Array.isArray(managedFields) || managedFields !== before['managedFields']) return yield* copyJsonSteps(metadata);
  const copy = yield* copyJsonSteps(others);
  const entries = (managedFields as readonly unknown[]).map((entry) => (isJsonObject(entry) ? { ...entry } : entry));
  unchanged.add(entries);
  copy['managedFields'] = entries;
  return copy;
}

/** The result of a JSON or merge patch as 1.24 shows it in messages: with sorted members. */
export function shownOutcome({ kind }: Patch, object: unknown, type: TypeInfo): string {
  const whole = kind === 'merge' && isJsonObject(object) ? withNulls(type, object) : object;
  if (!isJsonObject(whole)) return toJSONText(whole);
  return toJSONText(Object.fromEntries(Object.entries(whole).sort(([a], [b]) => (a < b ? -1 : 1))));
}

function patchedBy(patch: Patch, object: object, type: TypeInfo): unknown {
  switch (patch.kind) {
    case 'json':
      // 1.24 applies the operations to the object as it writes it, with nulls.
      return jsonPatch(withNulls(type, object), patch.body);
    case 'merge':
      return mergePatch(object, patch.body);
    case 'strategic':
      try {
        return strategicMergePatch(object, patch.body, type);
      } catch (error) {
        // Apply it again with nulls, since the error shows the object as 1.24 writes it.
        strategicMergePatch(withNulls(type, object), patch.body, type);
        throw error;
      }
    case 'apply':
      throw unsupportedMediaType(Object.keys(mediaTypes).filter((media) => mediaTypes[media] !== 'apply'));
  }
}
