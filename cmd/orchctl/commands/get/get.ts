import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import { printObjects } from '#cmd/orchctl/commands/get/objects.js';
import { printTables } from '#cmd/orchctl/commands/get/tables.js';
import { readsFiles } from '#cmd/orchctl/commands/manifests.js';
import { allNamespacesOption, chunkOption, filenameOptions, selectorOptions } from '#cmd/orchctl/commands/options.js';
import { isForPeople, printOptions } from '#cmd/orchctl/print/formats.js';
import { CommandError, UsageError } from '#cmd/orchctl/terminal/errors.js';

const subresources = ['status', 'scale'];

export const get: Command = {
  name: 'get',
  usage: '(TYPE[.VERSION][.GROUP][,TYPE…] [NAME…] | TYPE/NAME… | -f FILE | --raw PATH)',
  summary: 'Show objects as a table, JSON or YAML',
  examples: [
    'orchctl get pods -A -o wide',
    'orchctl get deployment/web -o yaml',
    'orchctl get pods -l app=web -w',
    'orchctl get pods --sort-by .status.startTime -L app',
    "orchctl get pods -o jsonpath='{.items[*].metadata.name}'",
    'orchctl get pods -o custom-columns=NAME:.metadata.name,NODE:.spec.nodeName',
    'orchctl get --raw /readyz?verbose',
  ],
  completes: 'objects',
  options: {
    ...selectorOptions,
    ...allNamespacesOption,
    ...chunkOption,
    ...filenameOptions,
    ...printOptions,
    subresource: { type: 'string', section: 'Selection', meaning: 'Show this subresource: status or scale.' },
    watch: { type: 'bool', shorthand: 'w', section: 'Output', meaning: 'After the listing, show every change.' },
    'watch-only': { type: 'bool', section: 'Output', meaning: 'Show changes without the initial listing.' },
    'output-watch-events': {
      type: 'bool',
      section: 'Output',
      meaning: 'While watching, show what happened to each object: ADDED, MODIFIED or DELETED.',
    },
    'no-headers': { type: 'bool', section: 'Output', meaning: 'Omit the header line.' },
    'show-labels': { type: 'bool', section: 'Output', meaning: 'Add a column with all labels.' },
    'label-columns': {
      type: 'strings',
      shorthand: 'L',
      section: 'Output',
      meaning: 'Add a column for each of these labels.',
    },
    'show-kind': { type: 'bool', section: 'Output', meaning: 'Show the kind in front of names.' },
    'sort-by': {
      type: 'string',
      section: 'Output',
      meaning: 'Sort by the value of this field, such as .metadata.creationTimestamp.',
    },
    'server-print': {
      type: 'bool',
      default: true,
      section: 'Output',
      meaning: "Show the server's columns, instead of only names and ages.",
    },
    raw: { type: 'string', section: 'Output', meaning: "Print the server's response to a GET of this path." },
    'ignore-not-found': { type: 'bool', section: 'Output', meaning: 'Treat a missing object as success.' },
  },
  async run(invocation) {
    const { values } = invocation;
    const raw = values.string('raw');
    if (raw !== undefined && raw !== '') return printRaw(invocation, raw);
    check(invocation);
    if (values.bool('watch') || values.bool('watch-only')) {
      const { watch } = await import('#cmd/orchctl/commands/get/watch.js');
      return watch(invocation);
    }
    return isForPeople(values) ? printTables(invocation) : printObjects(invocation);
  },
};

function check({ args, err, values }: Invocation): void {
  const watches = values.bool('watch') || values.bool('watch-only');
  const output = values.string('output') ?? '';
  if (!watches && args.length === 0 && !readsFiles(values)) {
    err.write(
      'You must specify the type of resource to get. Use "orchctl api-resources" for a complete list of supported resources.\n\n',
    );
    throw new UsageError(
      'Required resource not specified.\nUse "orchctl explain <resource>" for a detailed description of that resource (e.g. orchctl explain pods).',
    );
  }
  if (watches && (values.string('sort-by') ?? '') !== '') {
    err.write('warning: --watch or --watch-only requested, --sort-by will be ignored\n');
  }
  if (values.bool('show-labels') && output !== '' && output !== 'wide') {
    throw new CommandError(`--show-labels option cannot be used with ${output} printer`);
  }
  if (values.bool('output-watch-events') && !watches) {
    throw new UsageError('--output-watch-events option can only be used with --watch or --watch-only');
  }
  const subresource = values.string('subresource');
  if (subresource !== undefined && !subresources.includes(subresource)) {
    throw new CommandError(
      `invalid subresource value: ${JSON.stringify(subresource)}. Must be one of [${subresources.join(' ')}]`,
    );
  }
}

async function printRaw({ api, args, out, values }: Invocation, path: string): Promise<number> {
  if (args.length > 0) throw new CommandError('arguments may not be passed when --raw is specified');
  if (values.bool('watch') || values.bool('watch-only') || values.isSet('selector')) {
    throw new CommandError(
      '--raw may not be specified with other flags that filter the server request or alter the output',
    );
  }
  if (values.isSet('output')) throw new UsageError('--raw and --output are mutually exclusive');
  if (!path.startsWith('/')) {
    throw new UsageError(`--raw must be a valid URL path: parse ${JSON.stringify(path)}: invalid URI for request`);
  }
  const response = await api.send('GET', path, undefined, { accept: 'application/json, */*' });
  for await (const chunk of response.body) out.write(chunk);
  return 0;
}
