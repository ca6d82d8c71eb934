/** `get` for people: a table for each type. */
import { isNotFound } from '#apimachinery/errors/status.js';
import { parseTargets, type ServedResource, type Target } from '#cmd/orchctl/api/resources.js';
import { asTable, type Table, type TableRow } from '#cmd/orchctl/api/table.js';
import type { Invocation } from '#cmd/orchctl/commands/command.js';
import { readManifests, readsFiles } from '#cmd/orchctl/commands/manifests.js';
import {
  limitOf,
  nameOfAllNamespaces,
  namesWithSelector,
  refuseArguments,
  scopeOf,
  sharperError,
} from '#cmd/orchctl/commands/selection.js';
import { sortedBy } from '#cmd/orchctl/print/sort.js';
import { type TableOptions, TablePrinter } from '#cmd/orchctl/print/table.js';
import { throwAll } from '#cmd/orchctl/terminal/errors.js';

/** A table of one type, or of one object of it. */
interface Part {
  readonly resource: ServedResource;
  readonly table: Table;
}

/** Prints several types as kubectl does: each under its own header, with the kind in front of names. */
export async function printTables(invocation: Invocation): Promise<number> {
  const { values, out, err, namespace } = invocation;
  const everywhere = values.bool('all-namespaces');
  const header = !values.bool('no-headers');
  const targets = await tableTargets(invocation);
  const { parts, errors } = await readTables(invocation, targets);
  const several = parts.some(({ resource }) => resource.kind !== parts[0]?.resource.kind);
  let shown = 0;
  for (const { resource, table } of inTypes(parts)) {
    if ((table.rows ?? []).length === 0) continue;
    if (shown > 0 && header) out.write('\n');
    new TablePrinter(out, tableOptions(invocation, resource, several)).print(
      sortedTable(table, values.string('sort-by')),
    );
    shown += 1;
  }
  throwAll(errors);
  if (shown > 0 || values.bool('ignore-not-found')) return 0;
  const isOfNamespace = !everywhere && parts.every(({ resource }) => resource.namespaced);
  err.write(isOfNamespace ? `No resources found in ${namespace} namespace.\n` : 'No resources found\n');
  return 0;
}

/** A target with the namespace of its objects, where a file names it. */
export interface TableTarget extends Target {
  readonly namespace: string | undefined;
}

export async function tableTargets(invocation: Invocation): Promise<TableTarget[]> {
  const { api, args, namespace, values } = invocation;
  const catalog = await api.catalog();
  if (readsFiles(values)) {
    refuseArguments(args);
    const manifests = await readManifests(invocation, catalog);
    return manifests.map((each) => ({ ...each, names: [each.object.metadata.name ?? ''] }));
  }
  const selects = values.isSet('selector') || values.isSet('field-selector');
  return parseTargets(catalog, args).map(({ resource, names }) => {
    if (names.length > 0 && selects) {
      throw namesWithSelector(args);
    }
    if (values.bool('all-namespaces') && resource.namespaced) {
      if (names.length > 0) throw nameOfAllNamespaces();
      return { resource, names, namespace: undefined };
    }
    return { resource, names, namespace: resource.namespaced ? namespace : undefined };
  });
}

async function readTables(
  invocation: Invocation,
  targets: readonly TableTarget[],
): Promise<{ parts: Part[]; errors: unknown[] }> {
  const { values } = invocation;
  const parts: Part[] = [];
  const errors: unknown[] = [];
  for (const target of targets) {
    const { resource, names, namespace } = target;
    for (const name of names.length === 0 ? [undefined] : names) {
      try {
        parts.push({ resource, table: await readTable(invocation, target, name) });
      } catch (error) {
        if (isNotFound(error) && values.bool('ignore-not-found')) continue;
        errors.push(name === undefined ? error : await sharperError(invocation, error, namespace));
      }
    }
  }
  return { parts, errors };
}

async function readTable(
  invocation: Invocation,
  { resource, namespace }: TableTarget,
  name: string | undefined,
): Promise<Table> {
  const { api, clock, values } = invocation;
  const subresource = values.string('subresource');
  const selection = { labelSelector: values.string('selector'), fieldSelector: values.string('field-selector') };
  const scope = scopeOf(namespace);
  if (!values.bool('server-print')) {
    const items =
      name === undefined
        ? await api.list(resource, scope, selection, limitOf(invocation))
        : [await api.get(resource, name, scope)];
    return asTable({ items: items as never }, clock.now());
  }
  const sorts = (values.string('sort-by') ?? '') !== '';
  const table = await api.table(resource, name, scope, {
    ...(name === undefined ? selection : {}),
    // Sorted lists come in one piece, as kubectl asks for them.
    limit: sorts ? 0 : limitOf(invocation),
    wholeObjects: sorts,
    subresource,
  });
  return table ?? { rows: [] };
}

/** Joins neighbouring tables of one type, so that their columns are aligned. */
function inTypes(parts: readonly Part[]): Part[] {
  const joined: Part[] = [];
  for (const { resource, table } of parts) {
    const last = joined.at(-1);
    if (last?.resource !== resource) joined.push({ resource, table });
    else {
      const rows = [...(last.table.rows ?? []), ...(table.rows ?? [])];
      joined[joined.length - 1] = { resource, table: { ...last.table, rows } };
    }
  }
  return joined;
}

function sortedTable(table: Table, field: string | undefined): Table {
  if (field === undefined || field === '' || (table.rows ?? []).length < 2) return table;
  return { ...table, rows: sortedBy(table.rows ?? [], field, ({ object }: TableRow) => object) };
}

/** @param several Whether tables of other types are printed too. */
export function tableOptions({ values }: Invocation, resource: ServedResource, several: boolean): TableOptions {
  return {
    wide: values.string('output') === 'wide',
    namespaces: values.bool('all-namespaces') && resource.namespaced,
    header: !values.bool('no-headers'),
    labels: values.bool('show-labels'),
    labelColumns: values.strings('label-columns'),
    ...(several || values.bool('show-kind') ? { namePrefix: kindPrefix(resource) } : {}),
  };
}

/** `pod/`, `deployment.apps/`. */
function kindPrefix({ kind, group }: ServedResource): string {
  return `${[kind, ...(group === '' ? [] : [group])].join('.').toLowerCase()}/`;
}
