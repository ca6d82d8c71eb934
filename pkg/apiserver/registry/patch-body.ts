/** The patch in a request's body and what it makes of an object. */

import { DecodeError } from '#apimachinery/codec/json/decode-error.js';
import { parseJSONText } from '#apimachinery/codec/json/text.js';
import { bareMediaType } from '#apimachinery/codec/negotiate.js';
import { parseYAML } from '#apimachinery/codec/yaml.js';
import { copyJson } from '#apimachinery/copy.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { badRequest, unsupportedMediaType } from '#apimachinery/errors/status.js';
import { jsonPatch } from '#apimachinery/patch/json-patch.js';
import { isObject, type JsonObject, setMember } from '#apimachinery/patch/json-values.js';
import { mergePatch } from '#apimachinery/patch/merge-patch.js';
import { strategicMergePatch } from '#apimachinery/patch/strategic-merge-patch.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';
import type { RequestContext } from '#apiserver/http/context.js';

export type PatchKind = 'json' | 'merge' | 'strategic' | 'apply';

export interface Patch {
  readonly kind: PatchKind;
  readonly body: unknown;
}

const mediaTypes: Readonly<Record<string, PatchKind>> = {
  'application/json-patch+json': 'json',
  'application/merge-patch+json': 'merge',
  'application/strategic-merge-patch+json': 'strategic',
  'application/apply-patch+yaml': 'apply',
};

/** Throws 415 for other media types and 400 for what cannot be read. */
export function readPatch(context: RequestContext): Patch {
  const kind = mediaTypes[bareMediaType(context.request.headers['content-type'])];
  if (kind === undefined) throw unsupportedMediaType(Object.keys(mediaTypes));
  const body = kind === 'apply' ? yaml(context.request.body) : json(context.request.body);
  if (kind !== 'json' && (typeof body !== 'object' || body === null || Array.isArray(body))) {
    throw badRequest('error decoding patch: not an object');
  }
  return { kind, body };
}

function json(body: Buffer): unknown {
  try {
    return parseJSONText(body.toString());
  } catch (error) {
    throw badRequest(`error decoding patch: ${messageOf(error)}`, error);
  }
}

function yaml(body: Buffer): unknown {
  try {
    return parseYAML(body.toString());
  } catch (error) {
    if (error instanceof DecodeError) throw badRequest(`error decoding YAML: ${error.message}`, error);
    throw error;
  }
}

/**
 * The patched object, not yet normalized, sharing nothing with `object` or the patch. Server-side apply is not among
 * these: it needs the fields' owners.
 */
export function applyPatch(patch: Patch, object: object, type: TypeInfo): unknown {
  const patched = patchedBy(patch, object, type);
  return patched === undefined ? undefined : copyJson(patched);
}

export interface Patched {
  readonly value: unknown;
  /** Parts of `value` that are parts of the object, not to be modified. */
  readonly shared: ReadonlySet<unknown>;
}

/**
 * The same, sharing with `object` those of its members that the patch leaves alone. The metadata are never shared, since
 * every write changes something in them; but what they hold about managers is.
 */
export function applyPatchSharing(patch: Patch, object: object, type: TypeInfo): Patched {
  const patched = patchedBy(patch, object, type);
  const shared = new Set<unknown>();
  if (!isObject(patched)) return { value: patched === undefined ? undefined : copyJson(patched), shared };
  const share = (member: unknown, before: unknown): unknown => {
    if (typeof member !== 'object' || member === null || member !== before) return copyJson(member);
    shared.add(member);
    return member;
  };
  const value = mapMembers(patched, object, (key, member, before) => {
    if (key !== 'metadata' || !isObject(member) || !isObject(before)) return share(member, before);
    return mapMembers(member, before, (name, part, old) =>
      name === 'managedFields' ? share(part, old) : copyJson(part),
    );
  });
  return { value, shared };
}

/** A copy whose members are what `copy` makes of them, given also those of `old` by the same names. */
function mapMembers(
  object: JsonObject,
  old: object,
  copy: (key: string, member: unknown, before: unknown) => unknown,
): JsonObject {
  const result: JsonObject = {};
  for (const key of Object.keys(object)) {
    const member = object[key];
    if (member !== undefined) setMember(result, key, copy(key, member, (old as JsonObject)[key]));
  }
  return result;
}

function patchedBy(patch: Patch, object: object, type: TypeInfo): unknown {
  switch (patch.kind) {
    case 'json':
      return jsonPatch(object, patch.body);
    case 'merge':
      return mergePatch(object, patch.body);
    case 'strategic':
      return strategicMergePatch(object, patch.body, type);
    case 'apply':
      throw unsupportedMediaType(Object.keys(mediaTypes).filter((media) => mediaTypes[media] !== 'apply'));
  }
}
