/** `apply --server-side`. */

import { messageOf } from '#apimachinery/errors/message.js';
import { statusOf } from '#apimachinery/errors/status.js';
import type { ApiObject } from '#client/client.js';
import { objectPath, withQuery } from '#cmd/orchctl/api/api.js';
import { type Applied, type ApplyWay, fieldManager } from '#cmd/orchctl/commands/apply/way.js';
import type { Invocation } from '#cmd/orchctl/commands/command.js';
import type { Manifest } from '#cmd/orchctl/commands/manifests.js';
import { scopeOf } from '#cmd/orchctl/commands/selection.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';

export async function applyThere(
  { api, values }: Invocation,
  { object, resource, namespace }: Manifest,
  { dryRun, directive }: ApplyWay,
): Promise<Applied> {
  const path = withQuery(objectPath(resource, object.metadata.name ?? '', scopeOf(namespace)), {
    fieldManager: values.string('field-manager') ?? fieldManager,
    force: String(values.bool('force-conflicts')),
    dryRun: dryRun === 'server' ? 'All' : undefined,
    fieldValidation: directive,
  });
  try {
    const applied = await api.json<ApiObject>('PATCH', path, object, {
      'content-type': 'application/apply-patch+yaml',
    });
    return { object: applied, verb: 'serverside-applied' };
  } catch (error) {
    if (statusOf(error)?.code !== 409) throw error;
    throw new CommandError(`${messageOf(error)}\n${conflictHelp}`);
  }
}

const conflictHelp = `Please review the fields above--they currently have other managers. Here
are the ways you can resolve this warning:
* If you intend to manage all of these fields, please re-run the apply
  command with the \`--force-conflicts\` flag.
* If you do not intend to manage all of the fields, please edit your
  manifest to remove references to the fields that should keep their
  current managers.
* You may co-own fields by updating your manifest to match the existing
  value; in this case, you'll become the manager if the other manager(s)
  stop managing the field (remove it from their configuration).`;
