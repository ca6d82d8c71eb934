/** `label` and `annotate`. */
import { labelValueErrors } from '#apimachinery/validation/names.js';
import type { ApiObject } from '#client/client.js';
import { splitArguments } from '#cmd/orchctl/commands/change/pairs.js';
import { sendPatch } from '#cmd/orchctl/commands/change/patching.js';
import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import { readsFiles } from '#cmd/orchctl/commands/manifests.js';
import { dryRunOption, managerOption, objectsOptions } from '#cmd/orchctl/commands/options.js';
import { type Info, select } from '#cmd/orchctl/commands/selection.js';
import { dryRunOf, resultPrinter } from '#cmd/orchctl/commands/writing.js';
import { printOptions } from '#cmd/orchctl/print/formats.js';
import { goJSON } from '#cmd/orchctl/print/json/go-json.js';
import { CommandError, throwAll } from '#cmd/orchctl/terminal/errors.js';

type Member = 'labels' | 'annotations';

interface Changes {
  readonly set: ReadonlyMap<string, string>;
  readonly removed: readonly string[];
}

export const label = metadataCommand({
  member: 'labels',
  name: 'label',
  noun: 'label',
  summary: 'Set and remove labels',
  examples: [
    'orchctl label pod web-0 tier=front',
    'orchctl label pod web-0 tier=back --overwrite',
    'orchctl label nodes -l zone=a checked-',
    'orchctl label pod web-0 --list',
  ],
});

export const annotate = metadataCommand({
  member: 'annotations',
  name: 'annotate',
  noun: 'annotation',
  summary: 'Set and remove annotations',
  examples: ['orchctl annotate deployment web owner="the web team"', 'orchctl annotate pods --all checked-'],
});

interface Words {
  readonly member: Member;
  readonly name: string;
  readonly noun: 'label' | 'annotation';
  readonly summary: string;
  readonly examples: readonly string[];
}

function metadataCommand({ member, name, noun, summary, examples }: Words): Command {
  return {
    name,
    usage: '(TYPE NAME… | TYPE/NAME… | -f FILE) KEY=VALUE… KEY-…',
    summary,
    examples,
    completes: 'objects',
    options: {
      ...objectsOptions,
      ...printOptions,
      ...dryRunOption,
      ...managerOption(`orchctl-${name}`),
      overwrite: { type: 'bool', section: 'Writing', meaning: `Replace ${noun}s that have another value.` },
      list: { type: 'bool', section: 'Output', meaning: `Print the ${noun}s.` },
      local: { type: 'bool', section: 'Writing', meaning: 'Change and print the objects of the files only.' },
      'resource-version': {
        type: 'string',
        section: 'Writing',
        meaning: 'Write only if the object has this resource version.',
      },
    },
    run: (invocation) => run(invocation, member, noun),
  };
}

async function run(invocation: Invocation, member: Member, noun: Words['noun']): Promise<number> {
  const { args, out, values } = invocation;
  const dryRun = dryRunOf(values);
  const { resources, pairs } = splitArguments(args, noun);
  const changes = noun === 'label' ? labelChanges(pairs) : annotationChanges(pairs);
  check(invocation, resources, changes, noun);
  const local = values.bool('local');
  const { infos, errors, isSingle } = await select(invocation, { args: resources, fromFiles: local });
  const version = values.string('resource-version') ?? '';
  if (version !== '' && !isSingle) throw new CommandError('--resource-version may only be used with a single resource');
  const print = await resultPrinter(invocation, dryRun);
  const failures = [...errors];
  for (const info of infos) {
    try {
      const present = info.object.metadata[member] ?? {};
      if (!values.bool('overwrite')) checkOverwrites(present, changes, noun);
      const isOnlyShown = dryRun === 'client' || local || values.bool('list');
      if (noun === 'label' && !isOnlyShown) {
        for (const key of changes.removed) {
          if (!Object.hasOwn(present, key)) out.write(`label ${JSON.stringify(key)} not found.\n`);
        }
      }
      const changed = withChanges(info, member, changes, version);
      const answer = isOnlyShown ? changed : await send(invocation, info, member, changes, { version, dryRun });
      if (values.bool('list')) {
        list(invocation, info, changed.metadata[member] ?? {}, { noun, isSingle });
        continue;
      }
      print(
        noun === 'label' ? changed : answer,
        noun === 'label' ? verbOf(info.object, changed, values.bool('overwrite')) : 'annotated',
      );
    } catch (error) {
      failures.push(error);
    }
  }
  throwAll(failures);
  return 0;
}

function check({ values }: Invocation, resources: readonly string[], { set, removed }: Changes, noun: string): void {
  for (const name of ['selector', 'field-selector']) {
    if (values.bool('all') && values.isSet(name)) {
      throw new CommandError(`cannot set --all and --${name} at the same time`);
    }
  }
  if (values.bool('list') && values.isSet('output')) {
    throw new CommandError('--list and --output may not be specified together');
  }
  const hasFiles = readsFiles(values);
  const example = noun === 'label' ? 'pod' : 'rsrc';
  if (values.bool('local')) {
    if (resources.length > 0) {
      throw new CommandError(
        `can only use local files by -f ${example}.yaml or --filename=${example}.json when --local=true is set`,
      );
    }
    if (!hasFiles) {
      throw new CommandError(`one or more files must be specified as -f ${example}.yaml or --filename=${example}.json`);
    }
  } else if (resources.length === 0 && !hasFiles) {
    throw new CommandError('one or more resources must be specified as <resource> <name> or <resource>/<name>');
  }
  if (set.size === 0 && removed.length === 0 && !values.bool('list')) {
    throw new CommandError(`at least one ${noun} update is required`);
  }
}

function labelChanges(pairs: readonly string[]): Changes {
  const set = new Map<string, string>();
  const removed: string[] = [];
  for (const pair of pairs) {
    if (!pair.includes('=')) {
      removed.push(pair.slice(0, -1));
      continue;
    }
    const [key = '', value = '', more] = pair.split('=');
    if (more !== undefined) throw new CommandError(`invalid label spec: ${pair}`);
    const faults = labelValueErrors(value);
    if (faults.length > 0) throw new CommandError(`invalid label value: ${JSON.stringify(pair)}: ${faults.join(';')}`);
    set.set(key, value);
  }
  if (removed.some((key) => set.has(key))) {
    throw new CommandError('can not both modify and remove a label in the same command');
  }
  return { set, removed };
}

function annotationChanges(pairs: readonly string[]): Changes {
  const set = new Map<string, string>();
  const removed: string[] = [];
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    if (at > 0) set.set(pair.slice(0, at), pair.slice(at + 1));
    else removed.push(pair.slice(0, -1));
  }
  const both = removed.filter((key) => set.has(key));
  if (both.length > 0) {
    throw new CommandError(
      `can not both modify and remove the following annotation(s) in the same command: ${both.join(', ')}`,
    );
  }
  return { set, removed };
}

function checkOverwrites(present: Readonly<Record<string, string>>, { set }: Changes, noun: Words['noun']): void {
  const repeated = [...set.keys()].filter((key) => Object.hasOwn(present, key));
  const words = repeated.map((key) => `'${key}' already has a value (${present[key]})`);
  if (noun === 'label') throwAll(words.map((each) => new CommandError(`${each}, and --overwrite is false`)));
  else if (words.length > 0) {
    throw new CommandError(`--overwrite is false but found the following declared annotation(s): ${words.join('; ')}`);
  }
}

function withChanges({ object }: Info, member: Member, { set, removed }: Changes, version: string): ApiObject {
  const all: Record<string, string> = { ...object.metadata[member], ...Object.fromEntries(set) };
  for (const key of removed) delete all[key];
  return {
    ...object,
    metadata: { ...object.metadata, [member]: all, ...(version === '' ? {} : { resourceVersion: version }) },
  };
}

/** 1.24 tells by the length of the texts. */
function verbOf(before: ApiObject, after: ApiObject, overwrite: boolean): string {
  const [former, changed] = [before, after].map((object) => goJSON(object)) as [string, string];
  if (former === changed) return 'not labeled';
  return !overwrite && changed.length < former.length ? 'unlabeled' : 'labeled';
}

function send(
  invocation: Invocation,
  info: Info,
  member: Member,
  { set, removed }: Changes,
  { version, dryRun }: { readonly version: string; readonly dryRun: ReturnType<typeof dryRunOf> },
): Promise<ApiObject> {
  const changes = { ...Object.fromEntries(set), ...Object.fromEntries(removed.map((key) => [key, null])) };
  const metadata = { [member]: changes, ...(version === '' ? {} : { resourceVersion: version }) };
  return sendPatch(invocation, info, { type: 'merge', body: { metadata }, dryRun });
}

function list(
  { out }: Invocation,
  { object, name, resource }: Info,
  pairs: Readonly<Record<string, string>>,
  { noun, isSingle }: { readonly noun: string; readonly isSingle: boolean },
): void {
  const indent = isSingle ? '' : ' ';
  if (!isSingle) out.write(`Listing ${noun}s for ${object.kind ?? ''}.${resource.group}/${name}:\n`);
  for (const [key, value] of Object.entries(pairs)) out.write(`${indent}${key}=${value}\n`);
}
