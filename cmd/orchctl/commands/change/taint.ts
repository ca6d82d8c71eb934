/** `taint`: sets and removes taints of nodes. */
import type { Node, Taint } from '#api/core/v1/types.gen.js';
import { labelValueErrors, qualifiedNameErrors } from '#apimachinery/validation/names.js';
import { sendPatch } from '#cmd/orchctl/commands/change/patching.js';
import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import { dryRunOption, labelSelectorOption, managerOption } from '#cmd/orchctl/commands/options.js';
import { select } from '#cmd/orchctl/commands/selection.js';
import { dryRunOf, resultPrinter } from '#cmd/orchctl/commands/writing.js';
import { printOptions } from '#cmd/orchctl/print/formats.js';
import { CommandError, throwAll, UsageError } from '#cmd/orchctl/terminal/errors.js';

type NewTaint = Pick<Taint, 'key' | 'value' | 'effect'>;

interface Changes {
  readonly set: readonly NewTaint[];
  /** Without an effect: all taints of the key. */
  readonly removed: readonly { readonly key: string; readonly effect: string }[];
}

const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

export const taint: Command = {
  name: 'taint',
  usage: 'nodes NAME… KEY[=VALUE]:EFFECT… KEY[:EFFECT]-…',
  summary: 'Set and remove taints of nodes',
  examples: [
    'orchctl taint nodes worker-a dedicated=db:NoSchedule',
    'orchctl taint nodes worker-a dedicated-',
    'orchctl taint nodes -l zone=a drained:NoExecute',
  ],
  completes: 'objects',
  options: {
    ...labelSelectorOption,
    ...printOptions,
    ...dryRunOption,
    ...managerOption('orchctl-taint'),
    all: { type: 'bool', section: 'Selection', meaning: 'All nodes.' },
    overwrite: { type: 'bool', section: 'Writing', meaning: 'Replace taints that have another value.' },
  },
  async run(invocation) {
    const { values } = invocation;
    const { resources, changes } = await parse(invocation);
    const dryRun = dryRunOf(values);
    const { infos, errors } = await select(invocation, { args: resources });
    const print = await resultPrinter(invocation, dryRun);
    const failures = [...errors];
    for (const info of infos) {
      try {
        const { taints, verb } = changed(info.object as Node, changes, values.bool('overwrite'));
        const object = info.object as Node;
        const answer =
          dryRun === 'client'
            ? { ...object, spec: { ...object.spec, taints } }
            : await sendPatch(invocation, info, {
                type: 'merge',
                // The version makes sure that no taint of another writer is lost.
                body: {
                  metadata: { resourceVersion: object.metadata.resourceVersion },
                  spec: { taints: taints.length === 0 ? null : taints },
                },
                dryRun,
              });
        print(answer, verb);
      } catch (error) {
        failures.push(error);
      }
    }
    throwAll(failures);
    return 0;
  },
};

async function parse({ api, args, values }: Invocation): Promise<{ resources: string[]; changes: Changes }> {
  const isTaint = (text: string) => /[=:]/.test(text) || text.endsWith('-');
  const first = args.findIndex(isTaint);
  const resources = [...args.slice(0, first < 0 ? args.length : first)];
  const specs = first < 0 ? [] : args.slice(first);
  const late = specs.find((text) => !isTaint(text));
  if (late !== undefined) throw new CommandError(`all resources must be specified before taint changes: ${late}`);
  const [type] = resources;
  if (type === undefined) throw new CommandError('one or more resources must be specified as <resource> <name>');
  if (specs.length === 0) throw new CommandError('at least one taint update is required');
  const changes = changesOf(specs);
  if ((await api.catalog()).one(type.split('/')[0] ?? '').kind !== 'Node') {
    throw new CommandError(`invalid resource type ${type.toLowerCase()}, only node types are supported`);
  }
  const both = changes.removed.filter(({ key, effect }) =>
    changes.set.some((each) => each.key === key && (effect === '' || each.effect === effect)),
  );
  if (both.length > 0) {
    const list = both.map(({ key, effect }) => `${key}=${effect}`).join(', ');
    throw new CommandError(`can not both modify and remove the following taint(s) in the same command: ${list}`);
  }
  if (values.bool('all') && values.isSet('selector')) {
    throw new CommandError("setting 'all' parameter with a non empty selector is prohibited");
  }
  if (!values.bool('all') && !values.isSet('selector') && resources.length < 2 && !type.includes('/')) {
    throw new CommandError("at least one resource name must be specified since 'all' parameter is not set");
  }
  return { resources, changes };
}

function changesOf(specs: readonly string[]): Changes {
  const set: NewTaint[] = [];
  const removed: { key: string; effect: string }[] = [];
  for (const spec of specs) {
    if (spec.endsWith('-')) {
      const [key = '', effect = ''] = spec.slice(0, -1).split(':');
      removed.push({ key: key.split('=')[0] ?? '', effect });
      continue;
    }
    const parsed = taintOf(spec);
    if (set.some(({ key, effect }) => key === parsed.key && effect === parsed.effect)) {
      throw new UsageError(
        `duplicated taints with the same key and effect: {${parsed.key} ${parsed.value ?? ''} ${parsed.effect} <nil>}`,
      );
    }
    set.push(parsed);
  }
  return { set, removed };
}

function taintOf(spec: string): NewTaint {
  const invalid = (why = '') => new UsageError(`invalid taint spec: ${spec}${why === '' ? '' : `, ${why}`}`);
  const parts = spec.split(':');
  if (parts.length > 2) throw invalid();
  const [pair = '', effect = ''] = parts;
  const [key = '', value = '', more] = pair.split('=');
  if (more !== undefined) throw invalid();
  const valueFaults = labelValueErrors(value);
  if (valueFaults.length > 0) throw invalid(valueFaults.join('; '));
  const keyFaults = qualifiedNameErrors(key);
  if (keyFaults.length > 0) throw invalid(keyFaults.join('; '));
  if (parts.length < 2) throw invalid();
  if (!effects.includes(effect)) {
    throw new UsageError(`invalid taint effect: ${effect}, unsupported taint effect`);
  }
  return { key, ...(value === '' ? {} : { value }), effect };
}

function changed(
  { metadata, spec }: Node,
  { set, removed }: Changes,
  overwrite: boolean,
): { taints: readonly NewTaint[]; verb: string } {
  const present: readonly Taint[] = spec?.taints ?? [];
  const isSame = (a: NewTaint, b: NewTaint) => a.key === b.key && a.effect === b.effect;
  const conflicts = present.filter((each) => set.some((other) => isSame(each, other)));
  if (!overwrite && conflicts.length > 0) {
    const keys = conflicts.map(({ key }) => key).join(',');
    throw new CommandError(
      `node ${metadata.name ?? ''} already has ${keys} taint(s) with same effect(s) and --overwrite is false`,
    );
  }
  const isRemoved = (each: NewTaint, { key, effect }: Changes['removed'][number]) =>
    each.key === key && (effect === '' || each.effect === effect);
  const joined = [...set, ...present.filter((each) => !set.some((other) => isSame(each, other)))];
  const missing = removed.filter((gone) => !joined.some((each) => isRemoved(each, gone)));
  throwAll(
    missing.map(({ key, effect }) => {
      const text = effect === '' ? key : `${key}:${effect}`;
      return new CommandError(`taint ${JSON.stringify(text)} not found`);
    }),
  );
  const isAdded = joined.length !== present.length;
  // The words of release 1.24.
  const verb = (isAdded && removed.length > 0) || overwrite ? 'modified' : isAdded ? 'tainted' : 'untainted';
  return { taints: joined.filter((each) => !removed.some((gone) => isRemoved(each, gone))), verb };
}
