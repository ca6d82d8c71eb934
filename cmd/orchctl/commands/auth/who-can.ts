/** `auth who-can`: the subjects that roles allow something, with the bindings by which they may. */
import { whoCan } from '#apiserver/authorization/explain/who-can.js';
import { listRbac } from '#cmd/orchctl/commands/access/rbac-lists.js';
import { targetOf, targetText } from '#cmd/orchctl/commands/access/target.js';
import type { Invocation } from '#cmd/orchctl/commands/command.js';
import { objectText } from '#cmd/orchctl/print/object.js';
import { alignColumns } from '#cmd/orchctl/print/table.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';

/** Returns the exit code: 1 if there is no such subject. Throws UsageError, and CommandError without the right to list roles. */
export async function printWhoCan(invocation: Invocation, args: readonly string[]): Promise<number> {
  const { values, out, err, api } = invocation;
  const namespace = values.bool('all-namespaces') ? '' : invocation.namespace;
  const { target, warnings } = await targetOf(invocation, args, namespace);
  for (const warning of warnings) err.write(`Warning: ${warning}\n`);
  const objects = await listRbac(api);
  if (objects === undefined) throw new CommandError('you may not list all roles and bindings, which this needs');
  const allowed = whoCan(target, objects);
  const form = values.string('output');
  if (form === 'json' || form === 'yaml') {
    out.write(objectText(allowed, form));
    return allowed.length === 0 ? 1 : 0;
  }
  if (allowed.length === 0) {
    err.write(`No role allows any subject to ${targetText(target)}.\n`);
    return 1;
  }
  const rows = allowed.map(({ subject, binding, role }) => {
    const { kind, namespace: place = '', name } = subject;
    return [kind, place === '' ? name : `${place}/${name}`, binding, role];
  });
  const header = values.bool('no-headers') ? [] : [['KIND', 'SUBJECT', 'BINDING', 'ROLE']];
  out.write(`${alignColumns([...header, ...rows]).join('\n')}\n`);
  return 0;
}
