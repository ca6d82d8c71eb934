/** `events`: the events of a namespace, or of one object, the newest last. */
import type { Event } from '#api/core/v1/types.gen.js';
import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import { allNamespacesOption, chunkOption } from '#cmd/orchctl/commands/options.js';
import { limitOf } from '#cmd/orchctl/commands/selection.js';
import { ageOf } from '#cmd/orchctl/print/age.js';
import { alignCells, cellWidths } from '#cmd/orchctl/print/align.js';
import { objectPrinter, printOptions } from '#cmd/orchctl/print/formats.js';
import { asList, withoutManagedFields } from '#cmd/orchctl/print/object.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';

export const events: Command = {
  name: 'events',
  usage: '[--for TYPE/NAME] [--types Normal,Warning]',
  summary: 'List events, the newest last',
  examples: ['orchctl events', 'orchctl events --for pod/web-0 --watch', 'orchctl events -A --types=Warning'],
  options: {
    ...allNamespacesOption,
    ...chunkOption,
    ...printOptions,
    for: { type: 'string', section: 'Selection', meaning: 'Only events of this object: TYPE/NAME.' },
    types: { type: 'strings', section: 'Selection', meaning: 'Only events of these types: Normal or Warning.' },
    watch: { type: 'bool', shorthand: 'w', section: 'Output', meaning: 'After the list, show every new event.' },
    'no-headers': { type: 'bool', section: 'Output', meaning: 'Omit the header line.' },
  },
  async run(invocation) {
    const { api, err, namespace, out, values } = invocation;
    const everywhere = values.bool('all-namespaces');
    const resource = (await api.catalog()).one('events');
    const scope = everywhere ? {} : { namespace };
    const fieldSelector = await objectSelector(invocation);
    const listed = await api.list<Event>(resource, scope, { fieldSelector }, limitOf(invocation));
    const chosen = listed.filter((event) => isOfType(event, values.strings('types'))).sort(byTime);
    const print = await objectPrinter(values, { ordered: true });
    if (print !== undefined) {
      out.write(print(asList(chosen.map(withoutManagedFields))));
      return 0;
    }
    if (chosen.length === 0 && !values.bool('watch')) {
      err.write(everywhere ? 'No events found.\n' : `No events found in ${namespace} namespace.\n`);
      return 0;
    }
    const table = new EventTable(invocation, everywhere);
    table.write(chosen);
    if (values.bool('watch')) await follow(invocation, table, fieldSelector);
    return 0;
  },
};

async function objectSelector({ api, values }: Invocation): Promise<string | undefined> {
  const text = values.string('for') ?? '';
  if (text === '') return undefined;
  const [type = '', name = '', more] = text.split('/');
  if (name === '' || more !== undefined) throw new CommandError('--for must be in resource/name form');
  const { kind } = (await api.catalog()).one(type);
  return `involvedObject.kind=${kind},involvedObject.name=${name}`;
}

function isOfType({ type = '' }: Event, types: readonly string[]): boolean {
  return types.length === 0 || types.some((each) => each.toLowerCase() === type.toLowerCase());
}

function timeOf({ eventTime, lastTimestamp, metadata, series }: Event): string {
  return series?.lastObservedTime ?? lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? '';
}

const byTime = (a: Event, b: Event) => (timeOf(a) < timeOf(b) ? -1 : 1);

class EventTable {
  readonly #invocation: Invocation;
  readonly #everywhere: boolean;
  #widths: readonly number[] = [];
  #hasHeader: boolean;

  constructor(invocation: Invocation, everywhere: boolean) {
    this.#invocation = invocation;
    this.#everywhere = everywhere;
    this.#hasHeader = invocation.values.bool('no-headers');
  }

  write(list: readonly Event[]): void {
    const now = this.#invocation.clock.now();
    const rows = list.map((event) => {
      const { involvedObject, message = '', metadata, reason = '', type = '' } = event;
      const object = `${involvedObject.kind ?? ''}/${involvedObject.name ?? ''}`;
      return [
        ...(this.#everywhere ? [metadata.namespace ?? ''] : []),
        lastSeen(event, now),
        type,
        reason,
        object,
        message.trim(),
      ];
    });
    const header = [...(this.#everywhere ? ['NAMESPACE'] : []), 'LAST SEEN', 'TYPE', 'REASON', 'OBJECT', 'MESSAGE'];
    const lines = this.#hasHeader ? rows : [header, ...rows];
    this.#hasHeader = true;
    this.#widths = cellWidths(lines, this.#widths);
    this.#invocation.out.write(alignCells(lines, this.#widths));
  }
}

/** `3m (x5 over 10m)`. */
function lastSeen(event: Event, now: number): string {
  const count = event.series?.count ?? event.count ?? 1;
  const last = ageOf(timeOf(event), now);
  if (count <= 1) return last;
  return `${last} (x${count} over ${ageOf(event.firstTimestamp ?? event.eventTime, now)})`;
}

async function follow(invocation: Invocation, table: EventTable, fieldSelector: string | undefined): Promise<void> {
  const { api, namespace, signal, values } = invocation;
  const resource = (await api.catalog()).one('events');
  const scope = values.bool('all-namespaces') ? {} : { namespace };
  const listed = await api.table(resource, undefined, scope, { fieldSelector });
  let resourceVersion = listed?.metadata?.resourceVersion;
  while (!signal.aborted) {
    for await (const { type, object } of api.watch<Event>(resource, scope, { fieldSelector, resourceVersion })) {
      resourceVersion = object.metadata.resourceVersion ?? resourceVersion;
      if (type === 'ADDED' || type === 'MODIFIED') {
        if (isOfType(object, values.strings('types'))) table.write([object]);
      }
    }
  }
}
