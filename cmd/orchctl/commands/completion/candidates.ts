/** What may stand at the end of an unfinished command line. */
import type { Pod } from '#api/core/v1/types.gen.js';
import type { ResourceCatalog } from '#cmd/orchctl/api/resources.js';
import { type Command, type Invocation, type Listed, loaded, named } from '#cmd/orchctl/commands/command.js';
import { ConfigStore } from '#cmd/orchctl/commands/config/store.js';
import { globalOptions } from '#cmd/orchctl/commands/options.js';
import { firstWord } from '#cmd/orchctl/terminal/command-line.js';
import type { OptionDeclaration, OptionTable } from '#daemon/options/option.js';

export interface Candidate {
  readonly word: string;
  readonly meaning: string;
}

const plain = (word: string): Candidate => ({ word, meaning: '' });

/** @param words The command line behind the program; the last one, perhaps empty, is completed. */
export async function candidates(
  commands: readonly Listed[],
  words: readonly string[],
  invocation: Invocation,
): Promise<Candidate[]> {
  const current = words.at(-1) ?? '';
  const before = words.slice(0, -1);
  const { command, listed, rest } = await commandOf(commands, before);
  const table: OptionTable = { ...globalOptions, ...command?.options };
  const all = await fitting({ command, listed, rest, table, current, before }, invocation);
  return all.filter(({ word }) => word.startsWith(current)).sort((a, b) => (a.word < b.word ? -1 : 1));
}

interface Line {
  readonly command: Command | undefined;
  /** Commands that may follow. */
  readonly listed: readonly Listed[];
  /** Arguments and flags of the command. */
  readonly rest: readonly string[];
  readonly table: OptionTable;
  readonly current: string;
  readonly before: readonly string[];
}

async function commandOf(
  commands: readonly Listed[],
  words: readonly string[],
): Promise<Pick<Line, 'command' | 'listed' | 'rest'>> {
  let command: Command | undefined;
  let listed = commands;
  let rest = words;
  for (;;) {
    const table: OptionTable = { ...globalOptions, ...command?.options };
    const first = firstWord(rest, table, (word) => named(listed, word) !== undefined);
    const next = first === undefined ? undefined : named(listed, first.word);
    if (first === undefined || next === undefined) return { command, listed, rest };
    command = await loaded(next);
    listed = command.subcommands ?? [];
    rest = first.rest;
  }
}

async function fitting(line: Line, invocation: Invocation): Promise<Candidate[]> {
  const { before, command, current, listed, rest, table } = line;
  const [flag, value] = current.split('=', 2);
  if (current.startsWith('--') && value !== undefined && flag !== undefined) {
    const options = await valuesOf(flag.slice(2), table[flag.slice(2)], invocation, line);
    return options.map(({ word, meaning }) => ({ word: `${flag}=${word}`, meaning }));
  }
  const open = openFlag(before.at(-1) ?? '', table);
  if (open !== undefined) return valuesOf(open, table[open], invocation, line);
  if (current.startsWith('-')) {
    return Object.entries(table).map(([name, { meaning }]) => ({
      word: `--${name}`,
      meaning: meaning.split('. ')[0] ?? '',
    }));
  }
  const next = listed.map(({ name, summary }) => ({ word: name, meaning: summary }));
  if (command === undefined || (next.length > 0 && command.completes === undefined)) return next;
  return [...next, ...(await argumentsOf(command, argumentsIn(rest, table), current, invocation))];
}

/** The flag at the end of the line that still needs its value. */
function openFlag(word: string, table: OptionTable): string | undefined {
  if (!word.startsWith('-') || word.includes('=')) return undefined;
  const entry = Object.entries(table).find(([name, { aliases = [], shorthand }]) =>
    word.startsWith('--') ? name === word.slice(2) || aliases.includes(word.slice(2)) : `-${shorthand}` === word,
  );
  if (entry === undefined || entry[1].type === 'bool' || entry[1].alone !== undefined) return undefined;
  return entry[0];
}

function argumentsIn(words: readonly string[], table: OptionTable): string[] {
  return words.filter((word, i) => !word.startsWith('-') && openFlag(words[i - 1] ?? '', table) === undefined);
}

const formats = ['json', 'yaml', 'name', 'wide', 'jsonpath=', 'custom-columns=', 'go-template='];

async function valuesOf(
  name: string,
  declaration: OptionDeclaration | undefined,
  invocation: Invocation,
  { rest, table }: Line,
): Promise<Candidate[]> {
  switch (name) {
    case 'namespace':
      return namesOf(invocation, 'namespaces', {});
    case 'context':
    case 'cluster':
    case 'user':
      return namesIn(invocation, `${name}s` as 'contexts');
    case 'output':
      return (declaration?.oneOf ?? formats).map(plain);
    case 'dry-run':
      return ['client', 'none', 'server'].map(plain);
    case 'container': {
      const [pod] = argumentsIn(rest, table);
      return pod === undefined ? [] : containersOf(invocation, pod.replace(/^pods?\//, ''));
    }
    default:
      return (declaration?.oneOf ?? []).map(plain);
  }
}

async function argumentsOf(
  { completes }: Command,
  args: readonly string[],
  current: string,
  invocation: Invocation,
): Promise<Candidate[]> {
  const { api, namespace } = invocation;
  switch (completes) {
    case undefined:
      return [];
    case 'contexts':
    case 'clusters':
    case 'users':
      return args.length === 0 ? namesIn(invocation, completes) : [];
    case 'pods':
      return args.length === 0 ? namesOf(invocation, 'pods', { namespace }) : [];
    case 'nodes':
      return namesOf(invocation, 'nodes', {});
    case 'containers':
      return [];
    case 'types':
    case 'objects': {
      const catalog = await api.catalog();
      const slash = current.indexOf('/');
      if (completes === 'objects' && slash > 0) {
        const type = current.slice(0, slash);
        const names = await namesOf(invocation, type, { namespace });
        return names.map(({ word, meaning }) => ({ word: `${type}/${word}`, meaning }));
      }
      const [type] = args;
      if (type === undefined) return typesIn(catalog);
      return completes === 'types' || type.includes('/') ? [] : namesOf(invocation, type, { namespace });
    }
    default:
      return completes satisfies never;
  }
}

/** A type in several groups appears once plain and with the other groups. */
function typesIn(catalog: ResourceCatalog): Candidate[] {
  const plainNames = new Set<string>();
  return catalog.preferred
    .filter(({ verbs }) => verbs.includes('get'))
    .map(({ group, kind, resource }) => {
      const word = plainNames.has(resource) ? `${resource}.${group}` : resource;
      plainNames.add(resource);
      return { word, meaning: kind };
    });
}

async function namesOf({ api }: Invocation, type: string, scope: { namespace?: string }): Promise<Candidate[]> {
  const objects = await api.list((await api.catalog()).one(type), scope);
  return objects.map(({ metadata }) => plain(metadata.name ?? ''));
}

async function containersOf({ api, namespace }: Invocation, name: string): Promise<Candidate[]> {
  const pod = await api.get<Pod>((await api.catalog()).one('pods'), name, { namespace });
  return [...(pod.spec.initContainers ?? []), ...pod.spec.containers].map((each) => plain(each.name));
}

function namesIn(invocation: Invocation, section: 'contexts' | 'clusters' | 'users'): Candidate[] {
  return new ConfigStore(invocation).merged[section].map(({ name }) => plain(name));
}
