/** `scale`: sets the number of replicas. */
import type { ApiObject } from '#client/client.js';
import { objectPath, withQuery } from '#cmd/orchctl/api/api.js';
import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import { allOption, dryRunOption, filenameOptions, labelSelectorOption } from '#cmd/orchctl/commands/options.js';
import { type Info, scopeOf, select } from '#cmd/orchctl/commands/selection.js';
import { type DryRun, dryRunOf, resultPrinter } from '#cmd/orchctl/commands/writing.js';
import { printOptions } from '#cmd/orchctl/print/formats.js';
import { CommandError, throwAll } from '#cmd/orchctl/terminal/errors.js';

interface Scale extends ApiObject {
  readonly spec?: { readonly replicas?: number };
}

export const scale: Command = {
  name: 'scale',
  usage: '--replicas COUNT (TYPE NAME… | TYPE/NAME… | -f FILE)',
  summary: 'Set the number of replicas',
  examples: [
    'orchctl scale deployment/web --replicas 5',
    'orchctl scale deployment web --current-replicas=2 --replicas=3',
  ],
  completes: 'objects',
  options: {
    ...filenameOptions,
    ...labelSelectorOption,
    ...printOptions,
    ...dryRunOption,
    ...allOption,
    replicas: { type: 'int', default: -1, section: 'Scaling', meaning: 'The number of replicas.' },
    'current-replicas': {
      type: 'int',
      default: -1,
      section: 'Scaling',
      meaning: 'Scale only if the current number of replicas is this.',
    },
    'resource-version': { type: 'string', section: 'Scaling', meaning: 'Scale only if this is the resource version.' },
    timeout: {
      type: 'duration',
      section: 'Scaling',
      meaning: 'Wait this long until the replicas are there; 0: do not wait.',
    },
  },
  async run(invocation) {
    const { values } = invocation;
    if (!values.isSet('replicas')) throw new CommandError('required flag(s) "replicas" not set');
    const replicas = values.number('replicas');
    if (replicas < 0) {
      throw new CommandError('The --replicas=COUNT flag is required, and COUNT must be greater than or equal to 0');
    }
    if (values.number('current-replicas') < -1) {
      throw new CommandError('The --current-replicas must specify an integer of -1 or greater');
    }
    const dryRun = dryRunOf(values);
    const { infos, errors } = await select(invocation);
    if (values.isSet('resource-version') && infos.length > 1) {
      throw new CommandError('cannot use --resource-version with multiple resources');
    }
    const print = await resultPrinter(invocation, dryRun);
    const failures = [...errors];
    for (const info of infos) {
      try {
        if (dryRun !== 'client') await scaleOne(invocation, info, replicas, dryRun);
        print(info.object, 'scaled');
      } catch (error) {
        failures.push(error);
      }
    }
    throwAll(failures);
    if (infos.length === 0) throw new CommandError('no objects passed to scale');
    return 0;
  },
};

async function scaleOne(invocation: Invocation, info: Info, replicas: number, dryRun: DryRun): Promise<void> {
  const { api, clock, signal, values } = invocation;
  const { resource, name, namespace } = info;
  const path = objectPath(resource, name, scopeOf(namespace), 'scale');
  const expected = values.number('current-replicas');
  const version = values.string('resource-version') ?? '';
  if (expected >= 0 || version !== '') {
    const { metadata, spec } = await api.json<Scale>('GET', path);
    const actual = spec?.replicas ?? 0;
    if (expected >= 0 && actual !== expected) {
      throw new CommandError(`Expected replicas to be ${expected}, was ${actual}`);
    }
    if (version !== '' && metadata.resourceVersion !== version) {
      throw new CommandError(`Expected resource version to be ${version}, was ${metadata.resourceVersion ?? ''}`);
    }
  }
  const query = { dryRun: dryRun === 'server' ? 'All' : undefined };
  const body = { spec: { replicas } };
  await api.json('PATCH', withQuery(path, query), body, { 'content-type': 'application/merge-patch+json' });
  const timeoutMs = values.number('timeout');
  if (timeoutMs <= 0 || dryRun !== 'none') return;
  const endMs = clock.now() + timeoutMs;
  for (;;) {
    const { spec, status } = await api.json<Scale & { status?: { replicas?: number } }>('GET', path);
    if (spec?.replicas === replicas && (status?.replicas ?? 0) === replicas) return;
    if (clock.now() >= endMs) throw new CommandError('timed out waiting for the condition');
    await clock.sleep(pollMs, signal);
  }
}

/** How often replicas are counted while `--timeout` waits for them. */
const pollMs = 1000;
