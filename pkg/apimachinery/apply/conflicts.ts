/** The error for a configuration that changes fields of other managers. */
import { type FieldSet, paths, pathText } from '#apimachinery/apply/field-set.js';
import type { Manager } from '#apimachinery/apply/managers.js';
import { applyConflict, type StatusError } from '#apimachinery/errors/status.js';

export interface ManagerConflict {
  readonly manager: Manager;
  readonly fields: FieldSet;
}

function describe(manager: Manager, apiVersion = manager.apiVersion): string {
  const name = JSON.stringify(manager.name);
  const full = manager.subresource === '' ? name : `${name} with subresource ${JSON.stringify(manager.subresource)}`;
  return manager.operation === 'Update' ? `${full} using ${apiVersion}` : full;
}

/** 409 Conflict with one cause per field. `conflictVersion`: the API version to name for all updates. */
export function conflictError(conflicts: readonly ManagerConflict[], conflictVersion?: string): StatusError {
  const all = conflicts
    .map(({ manager, fields }) => ({
      who: describe(manager, conflictVersion),
      fields: [...paths(fields)].map(pathText),
    }))
    .sort((a, b) => (a.who < b.who ? -1 : 1));
  const causes = all.flatMap(({ who, fields }) =>
    fields.map((field) => ({ reason: 'FieldManagerConflict', message: `conflict with ${who}`, field })),
  );
  const only = causes.length === 1 ? causes[0] : undefined;
  if (only !== undefined) {
    return applyConflict(causes, `Apply failed with 1 conflict: ${only.message}: ${only.field}`);
  }
  const lines = all.flatMap(({ who, fields }) => [`conflicts with ${who}:`, ...fields.map((field) => `- ${field}`)]);
  return applyConflict(causes, `Apply failed with ${causes.length} conflicts: ${lines.join('\n')}`);
}
