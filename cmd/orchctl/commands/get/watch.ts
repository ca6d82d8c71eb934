/** `get --watch`: the objects, then each change until the user or the server ends it. */
import type { ApiObject } from '#client/client.js';
import { asTable, type Table } from '#cmd/orchctl/api/table.js';
import type { Invocation } from '#cmd/orchctl/commands/command.js';
import { tableOptions, tableTargets } from '#cmd/orchctl/commands/get/tables.js';
import { scopeOf } from '#cmd/orchctl/commands/selection.js';
import { isForPeople, type ObjectPrinter, objectPrinter } from '#cmd/orchctl/print/formats.js';
import { withoutManagedFields } from '#cmd/orchctl/print/object.js';
import { TablePrinter } from '#cmd/orchctl/print/table.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';

export async function watch(invocation: Invocation): Promise<number> {
  const { api, clock, values, out, signal } = invocation;
  const [target, more] = await tableTargets(invocation);
  if (target === undefined || more !== undefined || target.names.length > 1) {
    throw new CommandError(
      'watch is only supported on individual resources and resource collections - more than 1 resource was found',
    );
  }
  const { resource, namespace } = target;
  const scope = scopeOf(namespace);
  const [name] = target.names;
  const selection = {
    labelSelector: values.string('selector'),
    fieldSelector: name === undefined ? values.string('field-selector') : `metadata.name=${name}`,
  };
  const people = isForPeople(values);
  const events = values.bool('output-watch-events');
  const printer = new TablePrinter(out, tableOptions(invocation, resource, false));
  const print = await objectPrinter(values, { tables: true, header: !values.bool('no-headers') });
  const isSilent = values.bool('watch-only');
  // A missing object is an error, rather than an empty list.
  if (name !== undefined) await api.get(resource, name, scope);
  const first = await api.table(resource, undefined, scope, { ...selection, wholeObjects: !people });
  if (!isSilent && first !== undefined) {
    if (people) printer.print(first, events ? 'ADDED' : undefined);
    else for (const row of first.rows ?? []) write(invocation, print, row.object as ApiObject, events ? 'ADDED' : '');
  }
  let resourceVersion = first?.metadata?.resourceVersion;
  while (!signal.aborted) {
    const options = { ...selection, resourceVersion, asTable: people };
    for await (const { type, object } of api.watch<Table & ApiObject>(resource, scope, options)) {
      resourceVersion = versionOf(object) ?? resourceVersion;
      if (type === 'BOOKMARK') continue;
      if (people) printer.print(asTable(object, clock.now()), events ? type : undefined);
      else write(invocation, print, object, events ? type : '');
    }
  }
  return 0;
}

function write({ out, values }: Invocation, print: ObjectPrinter | undefined, object: ApiObject, type: string): void {
  const shown = values.bool('show-managed-fields') ? object : withoutManagedFields(object);
  const isName = values.string('output') === 'name';
  out.write(print?.(type === '' || isName ? shown : { type, object: shown }) ?? '');
}

function versionOf(object: Table & ApiObject): string | undefined {
  const objectVersion = object.metadata?.resourceVersion;
  return objectVersion ?? object.rows?.[0]?.object?.metadata?.resourceVersion;
}
