/** `config`: shows and changes client configuration files. */
import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import { property, setCluster, setContext, setCredentials } from '#cmd/orchctl/commands/config/set.js';
import { ConfigStore, type Section, sortedConfig } from '#cmd/orchctl/commands/config/store.js';
import { commandGroup } from '#cmd/orchctl/commands/group.js';
import { alignCells } from '#cmd/orchctl/print/align.js';
import { objectPrinter, printOptions } from '#cmd/orchctl/print/formats.js';
import { objectText } from '#cmd/orchctl/print/object.js';
import { CommandError, throwAll, UsageError } from '#cmd/orchctl/terminal/errors.js';
import type { OptionTable } from '#daemon/options/option.js';

type Plain = Omit<Command, 'offline' | 'examples' | 'options' | 'run'> & {
  readonly options?: OptionTable;
  run(invocation: Invocation, store: ConfigStore): Promise<number | undefined> | number | undefined;
};

function offline({ options = {}, run, ...rest }: Plain): Command {
  return {
    ...rest,
    options,
    offline: true,
    examples: [`orchctl config ${rest.name} ${rest.usage}`.trim()],
    run: async (invocation) => run(invocation, new ConfigStore(invocation)),
  };
}

/** The one name among the arguments. Throws a UsageError. */
function onlyName({ args }: Invocation): string {
  const [name, more] = args;
  if (name === undefined || more !== undefined) throw new UsageError(`Unexpected args: [${args.join(' ')}]`);
  return name;
}

const currentContext = offline({
  name: 'current-context',
  usage: '',
  summary: 'Print the name of the current context',
  run({ args, out }, { merged }) {
    if (args.length > 0) throw new UsageError(`unexpected arguments: [${args.join(' ')}]`);
    const name = merged['current-context'];
    if (name === '') throw new CommandError('current-context is not set');
    out.write(`${name}\n`);
    return 0;
  },
});

const useContext = offline({
  name: 'use-context',
  aliases: ['use'],
  usage: 'NAME',
  summary: 'Set the current context',
  completes: 'contexts',
  run(invocation, store) {
    const name = onlyName(invocation);
    if (!store.merged.contexts.some((each) => each.name === name)) {
      throw new CommandError(`no context exists with the name: ${JSON.stringify(name)}`);
    }
    store.setCurrent(name);
    invocation.out.write(`Switched to context ${JSON.stringify(name)}.\n`);
    return 0;
  },
});

const getContexts = offline({
  name: 'get-contexts',
  usage: '[NAME…]',
  summary: 'List the contexts',
  completes: 'contexts',
  options: {
    output: { type: 'string', shorthand: 'o', section: 'Output', meaning: 'Output format: name.' },
    'no-headers': { type: 'bool', section: 'Output', meaning: 'Omit the header line.' },
  },
  run({ args, out, values }, { merged }) {
    const output = values.string('output') ?? '';
    if (output !== '' && output !== 'name') {
      throw new CommandError(`output must be one of '' or 'name': ${output}`);
    }
    const sorted = merged.contexts.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    const chosen = args.length === 0 ? sorted : sorted.filter(({ name }) => args.includes(name));
    const missing = args.filter((arg) => !merged.contexts.some(({ name }) => name === arg));
    if (output === 'name') for (const { name } of chosen) out.write(`${name}\n`);
    else {
      const rows = chosen.map(({ name, context }) => [
        name === merged['current-context'] ? '*' : '',
        name,
        context.cluster,
        context.user,
        context.namespace ?? '',
      ]);
      const header = ['CURRENT', 'NAME', 'CLUSTER', 'AUTHINFO', 'NAMESPACE'];
      out.write(alignCells(values.bool('no-headers') ? rows : [header, ...rows]));
    }
    throwAll(missing.map((name) => new CommandError(`context ${name} not found`)));
    return 0;
  },
});

const listNames = (name: string, section: Section, summary: string): Command =>
  offline({
    name,
    usage: '',
    summary,
    run({ out }, { merged }) {
      const names = merged[section].map((each) => each.name).sort();
      out.write(['NAME', ...names].map((each) => `${each}\n`).join(''));
      return 0;
    },
  });

const remover = (name: string, section: Section, noun: string, completes: 'clusters' | 'contexts' | 'users'): Command =>
  offline({
    name,
    usage: 'NAME',
    summary: `Delete a ${noun}`,
    completes,
    run(invocation, store) {
      const { err, out } = invocation;
      const entry = onlyName(invocation);
      const path = store.pathOf(section, entry);
      if (!store.merged[section].some((each) => each.name === entry)) {
        throw new CommandError(`cannot delete ${noun} ${entry}, not in ${path}`);
      }
      if (section === 'contexts' && store.merged['current-context'] === entry) {
        err.write(
          'warning: this removed your active context, use "orchctl config use-context" to select a different one\n',
        );
      }
      store.put(section, entry, undefined);
      out.write(`deleted ${noun} ${entry} from ${path}\n`);
      return 0;
    },
  });

const renameContext = offline({
  name: 'rename-context',
  usage: 'NAME NEW',
  summary: 'Rename a context',
  completes: 'contexts',
  run({ args, out }, store) {
    const [from = '', to = '', more] = args;
    if (args.length < 2 || more !== undefined) throw new UsageError(`Unexpected args: [${args.join(' ')}]`);
    if (to === '') throw new CommandError('You must specify a new non-empty context name');
    const { contexts, 'current-context': active } = store.merged;
    const context = contexts.find(({ name }) => name === from);
    const path = store.pathOf('contexts', from);
    if (context === undefined) {
      throw new CommandError(`cannot rename the context ${JSON.stringify(from)}, it's not in ${path}`);
    }
    if (contexts.some(({ name }) => name === to)) {
      throw new CommandError(
        `cannot rename the context ${JSON.stringify(from)}, the context ${JSON.stringify(to)} already exists in ${path}`,
      );
    }
    store.put('contexts', from, { ...context, name: to });
    if (active === from) store.setCurrent(to);
    out.write(`Context ${JSON.stringify(from)} renamed to ${JSON.stringify(to)}.\n`);
    return 0;
  },
});

const secretFields = ['token', 'password', 'client-key-data', 'client-certificate-data'];

const view = offline({
  name: 'view',
  usage: '',
  summary: 'Show the merged configuration, without secrets',
  options: {
    ...printOptions,
    minify: { type: 'bool', section: 'Selection', meaning: 'Only what the current context uses.' },
    raw: { type: 'bool', section: 'Output', meaning: 'Show secrets and certificates too.' },
  },
  async run({ out, values }, { merged }) {
    const chosen = values.bool('minify') ? minified(merged, values.string('context')) : merged;
    const shown = values.bool('raw') ? chosen : withoutSecrets(chosen);
    const print = await objectPrinter(values);
    out.write(print?.(sortedConfig(shown)) ?? objectText(sortedConfig(shown), 'yaml'));
    return 0;
  },
});

type Config = ConfigStore['merged'];

function minified(config: Config, given: string | undefined): Config {
  const active = given ?? config['current-context'];
  const context = config.contexts.find(({ name }) => name === active);
  if (context === undefined) throw new CommandError('current-context must exist in order to minify');
  return {
    ...config,
    'current-context': active,
    contexts: [context],
    clusters: config.clusters.filter(({ name }) => name === context.context.cluster),
    users: config.users.filter(({ name }) => name === context.context.user),
  };
}

function withoutSecrets(config: Config): Config {
  const hide = <T extends object>(entry: T, fields: readonly string[], word: string): T => {
    const hidden = Object.entries(entry).map(([key, value]) => [key, fields.includes(key) ? word : value]);
    return Object.fromEntries(hidden) as T;
  };
  return {
    ...config,
    clusters: config.clusters.map((each) => ({
      ...each,
      cluster: hide(each.cluster, ['certificate-authority-data'], 'DATA+OMITTED'),
    })),
    users: config.users.map((each) => ({ ...each, user: hide(each.user, secretFields, 'REDACTED') })),
  };
}

export const config = commandGroup({
  name: 'config',
  summary: 'Show and change client configuration files',
  examples: [
    'orchctl config use-context shop',
    'orchctl config set-context --current --namespace=shop',
    'orchctl config view --minify',
  ],
  offline: true,
  subcommands: [
    currentContext,
    remover('delete-cluster', 'clusters', 'cluster', 'clusters'),
    remover('delete-context', 'contexts', 'context', 'contexts'),
    remover('delete-user', 'users', 'user', 'users'),
    listNames('get-clusters', 'clusters', 'List the clusters'),
    getContexts,
    listNames('get-users', 'users', 'List the users'),
    renameContext,
    offline(property('set', 'Set a value of the configuration')),
    offline(setCluster),
    offline(setContext),
    offline(setCredentials),
    offline(property('unset', 'Remove a value of the configuration')),
    useContext,
    view,
  ],
});
