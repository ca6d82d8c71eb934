/** Patches without schema. */
import { parse } from 'yaml';
import { badRequest, unsupportedMediaType } from '#apimachinery/errors/status.js';
import type { ManagedFields } from '#apiserver/registry/managed-fields.js';
import type { Patches } from '#apiserver/registry/patches.js';

export const noManagedFields: ManagedFields = {
  created: ({ object }) => {
    delete object.metadata.managedFields;
  },
  updated: ({ object }) => {
    delete object.metadata.managedFields;
  },
  apply: () => {
    throw unsupportedMediaType(['application/json-patch+json', 'application/merge-patch+json']);
  },
};

export const simplePatches: Patches = {
  parse(body, kind) {
    try {
      return kind === 'apply' ? parse(body.toString()) : JSON.parse(body.toString());
    } catch (error) {
      throw badRequest(error instanceof Error ? error.message : String(error), error);
    }
  },
  json: () => {
    throw unsupportedMediaType(['application/merge-patch+json']);
  },
  merge: (object, patch) => mergePatch(object, patch),
  strategic: (object, patch) => mergePatch(object, patch),
};

function mergePatch(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const base = typeof target === 'object' && target !== null && !Array.isArray(target) ? target : {};
  const result: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = mergePatch(result[key], value);
  }
  return result;
}
