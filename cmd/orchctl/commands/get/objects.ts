/** `get` with whole objects: one alone, or several as a list. */
import { isNotFound } from '#apimachinery/errors/status.js';
import type { ApiObject } from '#client/client.js';
import type { Invocation } from '#cmd/orchctl/commands/command.js';
import { select } from '#cmd/orchctl/commands/selection.js';
import { objectPrinter } from '#cmd/orchctl/print/formats.js';
import { asList, withoutManagedFields } from '#cmd/orchctl/print/object.js';
import { sortedBy } from '#cmd/orchctl/print/sort.js';
import { throwAll } from '#cmd/orchctl/terminal/errors.js';

export async function printObjects(invocation: Invocation): Promise<number> {
  const { values, out } = invocation;
  const subresource = values.string('subresource');
  const { infos, errors, isSingle } = await select(invocation, {
    typeIsEnough: true,
    ...(subresource === undefined ? {} : { subresource }),
  });
  const failures = errors.filter((error) => !values.bool('ignore-not-found') || !isNotFound(error));
  if (infos.length === 0 && (values.bool('ignore-not-found') || (isSingle && failures.length > 0))) {
    throwAll(failures);
    return 0;
  }
  const print = await objectPrinter(values, { tables: true, header: !values.bool('no-headers') });
  const shown = infos.map(({ object }) => (values.bool('show-managed-fields') ? object : withoutManagedFields(object)));
  const [first] = shown;
  const sort = values.string('sort-by') ?? '';
  const inOrder = sort === '' ? shown : sortedBy(shown, sort, (object: ApiObject) => object);
  out.write(print?.(isSingle && first !== undefined ? first : asList(inOrder)) ?? '');
  throwAll(failures);
  return 0;
}
