/** `apply`: brings objects to the state in files, with a three-way merge here or by the server. */
import type { ApiObject } from '#client/client.js';
import { applyThere } from '#cmd/orchctl/commands/apply/server-side.js';
import { applyHere } from '#cmd/orchctl/commands/apply/three-way.js';
import { checkedManifests, manifestOptions } from '#cmd/orchctl/commands/checked-manifests.js';
import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import type { Manifest } from '#cmd/orchctl/commands/manifests.js';
import { matchesSelector } from '#cmd/orchctl/commands/matching.js';
import { dryRunOf, resultPrinter } from '#cmd/orchctl/commands/writing.js';
import { isForPeople, objectPrinter } from '#cmd/orchctl/print/formats.js';
import { asList, withoutManagedFields } from '#cmd/orchctl/print/object.js';
import { CommandError, throwAll, UsageError } from '#cmd/orchctl/terminal/errors.js';
import { directiveOf } from '#cmd/orchctl/validation/validate.js';

export const apply: Command = {
  name: 'apply',
  usage: '-f FILE',
  summary: 'Bring objects to the state in files',
  examples: [
    'orchctl apply -f examples/',
    'cat web.yaml | orchctl apply -f -',
    'orchctl apply --server-side -f web.yaml',
    'orchctl apply --prune -l app=web -f web/',
  ],
  options: {
    ...manifestOptions,
    'server-side': {
      type: 'bool',
      section: 'Writing',
      meaning: 'Let the server merge, by the managers of fields.',
    },
    'force-conflicts': {
      type: 'bool',
      section: 'Writing',
      meaning: 'With --server-side: take over fields that other managers own.',
    },
    'field-manager': {
      type: 'string',
      section: 'Writing',
      meaning:
        'Name of the manager of the applied fields; default: orchctl-client-side-apply, or orchctl with --server-side.',
    },
    force: { type: 'bool', section: 'Writing', meaning: 'Delete and create objects that cannot be changed.' },
    overwrite: {
      type: 'bool',
      default: true,
      section: 'Writing',
      meaning: 'Replace values that were changed elsewhere; false: refuse them.',
    },
    all: { type: 'bool', section: 'Pruning', meaning: 'With --prune: consider all objects of the namespaces.' },
    prune: {
      type: 'bool',
      section: 'Pruning',
      meaning: 'Delete objects that an earlier apply created and that the files lack now; needs -l or --all.',
    },
    'prune-whitelist': {
      type: 'stringArray',
      section: 'Pruning',
      meaning: 'Types to prune, as GROUP/VERSION/KIND (core/v1/Pod); may be repeated. Default: the common ones.',
    },
    cascade: {
      type: 'string',
      default: 'background',
      alone: 'background',
      oneOf: ['background', 'foreground', 'orphan'],
      section: 'Pruning',
      meaning: 'How to treat objects that pruned ones own.',
    },
  },
  async run(invocation) {
    const { api, values } = invocation;
    check(invocation);
    const directive = directiveOf(values.string('validate') ?? 'strict');
    const dryRun = dryRunOf(values);
    const serverSide = values.bool('server-side');
    const catalog = await api.catalog();
    const selector = values.bool('prune') ? undefined : values.string('selector');
    const manifests = await checkedManifests(invocation, directive, ({ object }) => matchesSelector(object, selector));
    if (manifests.length === 0) throw new CommandError('no objects passed to apply');
    const print = await resultPrinter(invocation, dryRun);
    const isShort = isForPeople(values) || values.string('output') === 'name';
    const applied: { object: ApiObject; manifest: Manifest }[] = [];
    const failures: unknown[] = [];
    for (const manifest of manifests) {
      try {
        checkName(manifest);
        const how = { dryRun, directive, dialect: catalog.dialect };
        const { object, verb } = await (serverSide
          ? applyThere(invocation, manifest, how)
          : applyHere(invocation, manifest, how));
        warnIfDeleting(invocation, object);
        applied.push({ object, manifest });
        if (isShort) print(object, verb);
      } catch (error) {
        failures.push(error);
      }
    }
    throwAll(failures);
    if (!isShort)
      await printAll(
        invocation,
        applied.map(({ object }) => object),
      );
    if (values.bool('prune')) {
      const { prune } = await import('#cmd/orchctl/commands/apply/prune.js');
      await prune(invocation, applied, dryRun);
    }
    return 0;
  },
};

function check({ values, args }: Invocation): void {
  const [first] = args;
  if (first !== undefined) throw new UsageError(`Unexpected args: [${args.join(' ')}]`);
  if (values.bool('force-conflicts') && !values.bool('server-side')) {
    throw new CommandError('--force-conflicts only works with --server-side');
  }
  if (values.bool('server-side') && values.bool('force')) {
    throw new CommandError('--force cannot be used with --server-side');
  }
  if (values.bool('server-side') && dryRunOf(values) === 'client') {
    throw new CommandError("--dry-run=client doesn't work with --server-side (did you mean --dry-run=server instead?)");
  }
  if (values.bool('prune') && !values.bool('all') && !values.isSet('selector')) {
    throw new CommandError(
      'all resources selected for prune without explicitly passing --all. To prune all resources, pass the --all flag. If you did not mean to prune all resources, specify a label selector',
    );
  }
  if (values.bool('prune') && values.bool('all') && values.isSet('selector')) {
    throw new CommandError('cannot set --all and --selector at the same time');
  }
}

function checkName({ object }: Manifest): void {
  const { generateName = '', name = '' } = object.metadata;
  if (name === '' && generateName !== '') {
    throw new CommandError(`from ${generateName}: cannot use generate name with apply`);
  }
}

function warnIfDeleting({ err }: Invocation, { metadata }: ApiObject): void {
  if (metadata.deletionTimestamp === undefined) return;
  err.write(`Warning: Detected changes to resource ${metadata.name ?? ''} which is currently being deleted.\n`);
}

async function printAll({ out, values }: Invocation, objects: readonly ApiObject[]): Promise<void> {
  const print = await objectPrinter(values);
  const shown = objects.map((object) => (values.bool('show-managed-fields') ? object : withoutManagedFields(object)));
  const [first] = shown;
  if (first !== undefined) out.write(print?.(shown.length === 1 ? first : asList(shown)) ?? '');
}
