/** The patch in a request's body and what it makes of an object. */
import { badRequest, unsupportedMediaType } from '#apimachinery/errors/status.js';
import type { RequestContext } from '#apiserver/http/context.js';
import type { RegistryContext } from '#apiserver/registry/registry-context.js';
import type { TypeRef } from '#apiserver/representation/codec.js';

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
export function readPatch(registry: RegistryContext, context: RequestContext, type: TypeRef): Patch {
  const media = (context.request.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const kind = mediaTypes[media];
  if (kind === undefined) throw unsupportedMediaType(Object.keys(mediaTypes));
  const body = registry.patches.parse(context.request.body, kind, type);
  if (kind !== 'json' && (typeof body !== 'object' || body === null || Array.isArray(body))) {
    throw badRequest('the patch must be an object');
  }
  return { kind, body };
}

/** The patched object, not yet normalized; `object` stays as it is. Server-side apply is not among these. */
export function applyPatch(registry: RegistryContext, patch: Patch, object: object, type: TypeRef): unknown {
  switch (patch.kind) {
    case 'json':
      return registry.patches.json(object, patch.body);
    case 'merge':
      return registry.patches.merge(object, patch.body);
    case 'strategic':
      return registry.patches.strategic(object, patch.body, type);
    case 'apply':
      throw unsupportedMediaType(Object.keys(mediaTypes).filter((media) => mediaTypes[media] !== 'apply'));
  }
}
