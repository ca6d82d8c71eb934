/** Patches of selected objects. */
import type { ApiObject } from '#client/client.js';
import { objectPath, withQuery } from '#cmd/orchctl/api/api.js';
import type { Invocation } from '#cmd/orchctl/commands/command.js';
import { type Info, scopeOf } from '#cmd/orchctl/commands/selection.js';
import { type DryRun, writeQuery } from '#cmd/orchctl/commands/writing.js';

export const patchTypes = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
} as const;

export interface PatchRequest {
  readonly type: keyof typeof patchTypes;
  readonly body: unknown;
  readonly dryRun: DryRun;
  readonly subresource?: string | undefined;
}

/** The patched object. */
export function sendPatch(
  { api, values }: Invocation,
  { resource, name, namespace }: Omit<Info, 'object'>,
  { type, body, dryRun, subresource }: PatchRequest,
): Promise<ApiObject> {
  const path = withQuery(objectPath(resource, name, scopeOf(namespace), subresource), writeQuery(values, dryRun));
  return api.json<ApiObject>('PATCH', path, body, { 'content-type': patchTypes[type] });
}
