/** The patch types of the fake API, without managed fields. */
import { badRequest } from '#apimachinery/errors/status.js';
import { jsonPatch } from '#apimachinery/patch/json-patch.js';
import { mergePatch } from '#apimachinery/patch/merge-patch.js';
import { strategicMergePatch } from '#apimachinery/patch/strategic-merge-patch.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';

/** The patched object; `type`: the object's type, for lists merged by key. */
export function applyPatch(contentType: string, object: unknown, patch: unknown, type: TypeInfo | undefined): unknown {
  switch (contentType) {
    case 'application/json-patch+json':
      return jsonPatch(object, patch);
    case 'application/merge-patch+json':
      return mergePatch(object, patch);
    case 'application/strategic-merge-patch+json':
    // Without managed fields, applying is merging.
    case 'application/apply-patch+yaml':
      return strategicMergePatch(object, patch, type);
    default:
      throw badRequest(`the fake API does not support patches of type ${JSON.stringify(contentType)}`);
  }
}
