import type { Event } from '#api/core/v1/types.gen.js';
import type { ApiObject } from '#client/client.js';
import { parseTargets, type ServedResource } from '#cmd/orchctl/api/resources.js';
import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import { readsFiles, readTargets } from '#cmd/orchctl/commands/manifests.js';
import { allNamespacesOption, filenameOptions, selectorOptions } from '#cmd/orchctl/commands/options.js';
import { ageOf } from '#cmd/orchctl/print/age.js';
import { descriptionOf } from '#cmd/orchctl/print/description.js';
import { alignColumns } from '#cmd/orchctl/print/table.js';
import { UsageError } from '#cmd/orchctl/terminal/errors.js';

export const describe: Command = {
  name: 'describe',
  usage: '(TYPE [NAME…] | TYPE/NAME… | -f FILE)',
  summary: 'Describe objects in detail, with their events',
  examples: ['orchctl describe pod web-0', 'orchctl describe nodes', 'orchctl describe pods -l app=web'],
  completes: 'objects',
  options: {
    ...selectorOptions,
    ...allNamespacesOption,
    ...filenameOptions,
    'show-events': {
      type: 'bool',
      default: true,
      section: 'Output',
      meaning: 'Show the events of each object.',
    },
  },
  async run(invocation) {
    const { api, values, args, out, err, namespace } = invocation;
    const catalog = await api.catalog();
    const fromFiles = readsFiles(values);
    const targets = fromFiles ? await readTargets(invocation, catalog) : parseTargets(catalog, args);
    const everywhere = values.bool('all-namespaces');
    let count = 0;
    for (const { resource, names } of targets) {
      if (everywhere && names.length > 0) throw new UsageError('a name cannot be combined with --all-namespaces');
      const scope = resource.namespaced && !everywhere ? { namespace } : {};
      const selection = { labelSelector: values.string('selector'), fieldSelector: values.string('field-selector') };
      const objects =
        names.length > 0
          ? await Promise.all(names.map((name) => api.get(resource, name, scope)))
          : await api.list(resource, scope, selection);
      for (const object of objects) {
        if (count++ > 0) out.write('\n\n');
        out.write(descriptionOf(object, invocation.clock.now()));
        if (values.bool('show-events')) out.write(await eventsText(invocation, resource, object));
      }
    }
    if (count === 0) err.write('No resources found.\n');
    return 0;
  },
};

async function eventsText({ api, clock }: Invocation, resource: ServedResource, object: ApiObject): Promise<string> {
  const { uid, name, namespace } = object.metadata;
  const selectors = [`involvedObject.name=${name ?? ''}`, `involvedObject.kind=${resource.kind}`];
  // Events of nodes carry the node's name as UID, so for cluster-scoped objects only kind and name are compared.
  if (namespace !== undefined) selectors.push(`involvedObject.uid=${uid ?? ''}`);
  const events = await api.list<Event>(
    (await api.catalog()).one('events'),
    namespace === undefined ? {} : { namespace },
    { fieldSelector: selectors.join(',') },
  );
  if (events.length === 0) return `${'Events:'.padEnd(16)}<none>\n`;
  const now = clock.now();
  const rows = events
    .sort((a, b) => lastSeen(a).localeCompare(lastSeen(b)))
    .map((event) => [
      `  ${event.type ?? ''}`,
      event.reason ?? '',
      ageText(event, now),
      event.source?.component ?? event.reportingComponent ?? '',
      (event.message ?? '').trim(),
    ]);
  const header = ['  Type', 'Reason', 'Age', 'From', 'Message'];
  const rule = header.map((title) => (title.startsWith('  ') ? '  ----' : '-'.repeat(title.length)));
  return `Events:\n${alignColumns([header, rule, ...rows]).join('\n')}\n`;
}

function lastSeen(event: Event): string {
  return (
    event.lastTimestamp ?? event.series?.lastObservedTime ?? event.eventTime ?? event.metadata.creationTimestamp ?? ''
  );
}

function ageText(event: Event, now: number): string {
  const count = event.series?.count ?? event.count ?? 1;
  const last = ageOf(lastSeen(event), now);
  if (count <= 1) return last;
  return `${last} (x${count} over ${ageOf(event.firstTimestamp ?? event.eventTime, now)})`;
}
