import type { ApiObject } from '#client/client.js';
import type { Api, Scope, Selection } from '#cmd/orchctl/api/api.js';
import { objectName, parseTargets, type ServedResource, type Target } from '#cmd/orchctl/api/resources.js';
import { asTable, type Table } from '#cmd/orchctl/api/table.js';
import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import { readTargets } from '#cmd/orchctl/commands/manifests.js';
import { allNamespacesOption, filenameOption, outputOption, selectorOptions } from '#cmd/orchctl/commands/options.js';
import { asList, objectText, withoutManagedFields } from '#cmd/orchctl/print/object.js';
import { TablePrinter } from '#cmd/orchctl/print/table.js';
import { UsageError } from '#cmd/orchctl/terminal/errors.js';

export const get: Command = {
  name: 'get',
  usage: '(TYPE[.GROUP][,TYPE…] [NAME…] | TYPE/NAME… | -f FILE | --raw PATH)',
  summary: 'Show objects as a table, JSON or YAML',
  examples: [
    'orchctl get pods -A -o wide',
    'orchctl get deployment/web -o yaml',
    'orchctl get pods -l app=web -w',
    'orchctl get --raw /readyz?verbose',
  ],
  options: {
    ...selectorOptions,
    ...allNamespacesOption,
    ...outputOption,
    ...filenameOption,
    watch: { type: 'bool', shorthand: 'w', section: 'Output', meaning: 'After the listing, show every change.' },
    'watch-only': { type: 'bool', section: 'Output', meaning: 'Show changes without the initial listing.' },
    'no-headers': { type: 'bool', section: 'Output', meaning: 'Omit the header line.' },
    'show-labels': { type: 'bool', section: 'Output', meaning: 'Add a column with all labels.' },
    'show-managed-fields': {
      type: 'bool',
      section: 'Output',
      meaning: 'Keep metadata.managedFields in json and yaml.',
    },
    raw: {
      type: 'string',
      section: 'Output',
      meaning: "Print the server's response to a GET of this path.",
    },
    'ignore-not-found': { type: 'bool', section: 'Output', meaning: 'Treat a missing object as success.' },
  },
  async run(invocation) {
    const { api, values, args } = invocation;
    const raw = values.string('raw');
    if (raw !== undefined && raw !== '') return printRaw(invocation, raw);
    const catalog = await api.catalog();
    const files = values.strings('filename');
    const targets = files.length > 0 ? await readTargets(invocation, catalog) : parseTargets(catalog, args);
    if (values.bool('watch') || values.bool('watch-only')) return watch(invocation, targets);
    const form = values.string('output');
    if (form === 'json' || form === 'yaml' || form === 'name') return printObjects(invocation, targets, form);
    return printTables(invocation, targets);
  },
};

async function printRaw({ api, args, out }: Invocation, path: string): Promise<number> {
  if (args.length > 0) throw new UsageError('--raw takes a path only, without objects');
  if (!path.startsWith('/')) throw new UsageError('--raw takes a path of the server, such as /readyz?verbose');
  const response = await api.send('GET', path, undefined, { accept: 'application/json, */*' });
  for await (const chunk of response.body) out.write(chunk);
  return 0;
}

function scopeOf(invocation: Invocation, target: Target): Scope {
  const everywhere = invocation.values.bool('all-namespaces');
  if (everywhere && target.names.length > 0) {
    throw new UsageError('a name cannot be combined with --all-namespaces: use -n NAMESPACE');
  }
  return target.resource.namespaced && !everywhere ? { namespace: invocation.namespace } : {};
}

function selectionOf(invocation: Invocation): Selection {
  return {
    labelSelector: invocation.values.string('selector'),
    fieldSelector: invocation.values.string('field-selector'),
  };
}

/** Prints several types as kubectl does: each under its own header, with the kind in front of names. */
async function printTables(invocation: Invocation, targets: readonly Target[]): Promise<number> {
  const { api, values, out, err } = invocation;
  const everywhere = values.bool('all-namespaces');
  const header = !values.bool('no-headers');
  const several = targets.some(({ resource }) => resource !== targets[0]?.resource);
  let shown = 0;
  for (const group of byResource(targets)) {
    const [{ resource }] = group;
    const tables: Table[] = [];
    for (const target of group) {
      const scope = scopeOf(invocation, target);
      tables.push(...(await tablesOf(api, target, scope, selectionOf(invocation), values.bool('ignore-not-found'))));
    }
    const table = joinTables(tables);
    if ((table.rows ?? []).length === 0) continue;
    if (shown > 0 && header) out.write('\n');
    const printer = new TablePrinter(out, {
      wide: values.string('output') === 'wide',
      namespaces: everywhere && resource.namespaced,
      header,
      labels: values.bool('show-labels'),
      ...(several ? { namePrefix: kindPrefix(resource) } : {}),
    });
    printer.print(table);
    shown += 1;
  }
  if (shown > 0 || values.bool('ignore-not-found')) return 0;
  const isOfNamespace = !everywhere && targets.every(({ resource }) => resource.namespaced);
  err.write(isOfNamespace ? `No resources found in ${invocation.namespace} namespace.\n` : 'No resources found\n');
  return 0;
}

/** Groups consecutive targets of one resource into a table. */
function byResource(targets: readonly Target[]): [Target, ...Target[]][] {
  const groups: [Target, ...Target[]][] = [];
  for (const target of targets) {
    const last = groups.at(-1);
    if (last !== undefined && last[0].resource === target.resource) last.push(target);
    else groups.push([target]);
  }
  return groups;
}

/** Joins tables of one resource so that their columns are aligned. */
function joinTables(tables: readonly Table[]): Table {
  return { ...tables[0], rows: tables.flatMap(({ rows }) => rows ?? []) };
}

/** `pod/`, `deployment.apps/`. */
function kindPrefix({ kind, group }: ServedResource): string {
  return `${[kind, ...(group === '' ? [] : [group])].join('.').toLowerCase()}/`;
}

async function tablesOf(api: Api, target: Target, scope: Scope, selection: Selection, tolerant: boolean) {
  if (target.names.length === 0) {
    const table = await api.table(target.resource, undefined, scope, selection);
    return table === undefined ? [] : [table];
  }
  const tables: Table[] = [];
  for (const name of target.names) {
    const table = await orMissing(api.table(target.resource, name, scope), tolerant);
    if (table !== undefined) tables.push(table);
  }
  return tables;
}

async function orMissing<T>(work: Promise<T>, tolerant: boolean): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (tolerant && isMissing(error)) return undefined;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === 404;
}

async function printObjects(invocation: Invocation, targets: readonly Target[], form: 'json' | 'yaml' | 'name') {
  const { api, values, out } = invocation;
  const objects: ApiObject[] = [];
  for (const target of targets) {
    const scope = scopeOf(invocation, target);
    const some =
      target.names.length === 0
        ? await api.list(target.resource, scope, selectionOf(invocation))
        : await Promise.all(
            target.names.map((name) =>
              orMissing(api.get<ApiObject>(target.resource, name, scope), values.bool('ignore-not-found')),
            ),
          );
    for (const object of some) {
      if (object === undefined) continue;
      if (form === 'name') out.write(`${objectName(target.resource, object.metadata.name ?? '')}\n`);
      else objects.push(values.bool('show-managed-fields') ? object : withoutManagedFields(object));
    }
  }
  if (form === 'name') return 0;
  const single = objects.length === 1 && targets.length === 1 && targets[0]?.names.length === 1;
  out.write(objectText(single ? objects[0] : asList(objects), form));
  return 0;
}

/** Prints the objects, then each change until the user or the server ends the watch. */
async function watch(invocation: Invocation, targets: readonly Target[]): Promise<number> {
  const [target, more] = targets;
  if (target === undefined || more !== undefined || target.names.length > 1) {
    throw new UsageError('watch one resource type or one object at a time');
  }
  const { api, clock, values, out, signal } = invocation;
  const scope = scopeOf(invocation, target);
  const [name] = target.names;
  const selection = selectionOf(invocation);
  const narrowed = name === undefined ? selection : { ...selection, fieldSelector: `metadata.name=${name}` };
  const form = values.string('output');
  const whole = form === 'json' || form === 'yaml' || form === 'name';
  const printer = new TablePrinter(out, {
    wide: form === 'wide',
    namespaces: values.bool('all-namespaces') && target.resource.namespaced,
    header: !values.bool('no-headers'),
    labels: values.bool('show-labels'),
  });
  const first = await api.table(target.resource, undefined, scope, narrowed);
  if (!whole && !values.bool('watch-only') && first !== undefined) printer.print(first);
  if (whole && !values.bool('watch-only')) await printObjects(invocation, [target], form);
  let resourceVersion = first?.metadata?.resourceVersion;
  while (!signal.aborted) {
    const options = { ...narrowed, resourceVersion, asTable: !whole };
    for await (const { type, object } of api.watch<Table & ApiObject>(target.resource, scope, options)) {
      resourceVersion = versionOf(object) ?? resourceVersion;
      if (type === 'BOOKMARK') continue;
      if (!whole) printer.print(asTable(object, clock.now()));
      else if (form === 'name') out.write(`${objectName(target.resource, object.metadata.name ?? '')}\n`);
      else out.write(`${form === 'yaml' ? '---\n' : ''}${objectText(withoutManagedFields(object), form)}`);
    }
  }
  return 0;
}

function versionOf(object: Table & ApiObject): string | undefined {
  const objectVersion = object.metadata?.resourceVersion;
  return objectVersion ?? object.rows?.[0]?.object?.metadata?.resourceVersion;
}
