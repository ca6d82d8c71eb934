/** `delete`: deletes objects, and waits until they are gone. */
import { isNotFound } from '#apimachinery/errors/status.js';
import type { ApiObject } from '#client/client.js';
import { objectPath, withQuery } from '#cmd/orchctl/api/api.js';
import { parseTargets, type ServedResource } from '#cmd/orchctl/api/resources.js';
import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import { readManifests, readsFiles } from '#cmd/orchctl/commands/manifests.js';
import { dryRunOption, objectsOptions } from '#cmd/orchctl/commands/options.js';
import {
  nameOfAllNamespaces,
  namesWithSelector,
  refuseArguments,
  scopeOf,
  sharperError,
} from '#cmd/orchctl/commands/selection.js';
import { type DryRun, dryRunOf, withSource } from '#cmd/orchctl/commands/writing.js';
import { CommandError, throwAll } from '#cmd/orchctl/terminal/errors.js';
import type { Values } from '#cmd/orchctl/terminal/values.js';

interface Victim {
  readonly resource: ServedResource;
  readonly name: string;
  readonly namespace: string | undefined;
  /** Its file; absent: named by arguments. */
  readonly source?: string;
}

export const deleteCommand: Command = {
  name: 'delete',
  usage: '(TYPE NAME… | TYPE/NAME… | TYPE -l SELECTOR | TYPE --all | -f FILE)',
  summary: 'Delete objects and wait until they are gone',
  examples: ['orchctl delete -f examples/', 'orchctl delete pod web-0', 'orchctl delete pods -l app=web --wait=false'],
  completes: 'objects',
  options: {
    ...objectsOptions,
    ...dryRunOption,
    'grace-period': {
      type: 'int',
      default: -1,
      section: 'Deletion',
      meaning: "Seconds for pods to terminate; negative: the object's own value.",
    },
    now: { type: 'bool', section: 'Deletion', meaning: 'The same as --grace-period=1.' },
    force: {
      type: 'bool',
      section: 'Deletion',
      meaning: 'Remove pods at once without waiting for the node (grace period 0).',
    },
    cascade: {
      type: 'string',
      default: 'background',
      alone: 'background',
      section: 'Deletion',
      meaning: 'How to treat objects that this one owns: background, foreground or orphan.',
    },
    wait: { type: 'bool', default: true, section: 'Deletion', meaning: 'Wait until the objects are gone.' },
    timeout: { type: 'duration', section: 'Deletion', meaning: 'Stop waiting after this long; 0: no limit.' },
    'ignore-not-found': { type: 'bool', section: 'Deletion', meaning: 'Treat a missing object as success.' },
    output: { type: 'string', shorthand: 'o', section: 'Output', meaning: 'Output format: name.' },
  },
  async run(invocation) {
    const { err, out, values } = invocation;
    const policy = policyOf(values);
    const grace = graceOf(values);
    const dryRun = dryRunOf(values);
    check(invocation, grace);
    const { victims, errors } = await victimsOf(invocation);
    const failures = [...errors];
    const waiting: { victim: Victim; uid: string | undefined }[] = [];
    if (
      values.isSet('namespace') &&
      !values.bool('all-namespaces') &&
      victims.some(({ resource }) => !resource.namespaced)
    ) {
      err.write('warning: deleting cluster-scoped resources, not scoped to the provided namespace\n');
    }
    for (const victim of victims) {
      try {
        const uid = dryRun === 'client' ? undefined : await deleteOne(invocation, victim, { policy, grace, dryRun });
        out.write(`${lineOf(victim, values, grace, dryRun)}\n`);
        waiting.push({ victim, uid });
      } catch (error) {
        if (!isNotFound(error) || !ignoresMissing(values)) failures.push(error);
      }
    }
    throwAll(failures);
    if (victims.length === 0 && errors.length === 0) out.write('No resources found\n');
    if (!values.bool('wait') || dryRun !== 'none') return 0;
    const timeoutMs = values.number('timeout');
    const limit = timeoutMs > 0 ? AbortSignal.timeout(timeoutMs) : undefined;
    for (const { victim, uid } of waiting) await untilGone(invocation, victim, uid, limit);
    return 0;
  },
};

const policies: Readonly<Record<string, string>> = {
  ...{ background: 'Background', foreground: 'Foreground', orphan: 'Orphan' },
  // Older forms of the option.
  ...{ true: 'Background', false: 'Orphan' },
};

function policyOf(values: Values): string {
  const text = values.string('cascade') ?? 'background';
  const policy = Object.hasOwn(policies, text) ? policies[text] : undefined;
  if (policy === undefined) {
    throw new CommandError(`invalid cascade value (${text}). Must be "background", "foreground", or "orphan"`);
  }
  return policy;
}

/** Seconds; negative: each object's own. */
function graceOf(values: Values): number {
  const seconds = values.number('grace-period');
  if (values.bool('now')) {
    if (seconds !== -1) throw new CommandError('--now and --grace-period cannot be specified together');
    return 1;
  }
  if (values.bool('force')) return Math.max(seconds, 0);
  // Without --force a deletion does not skip the node.
  return seconds === 0 ? 1 : seconds;
}

function check({ err, values }: Invocation, grace: number): void {
  const output = values.string('output') ?? '';
  if (output !== '' && output !== 'name') {
    throw new CommandError(`unexpected -o output mode: ${output}. We only support '-o name'`);
  }
  for (const name of ['selector', 'field-selector']) {
    if (values.bool('all') && values.isSet(name)) {
      throw new CommandError(`cannot set --all and --${name} at the same time`);
    }
  }
  if (!values.bool('force')) return;
  if (grace > 0) {
    throw new CommandError('--force and --grace-period greater than 0 cannot be specified together');
  }
  err.write(
    'warning: Immediate deletion does not wait for confirmation that the running resource has been terminated. The resource may continue to run on the cluster indefinitely.\n',
  );
}

function ignoresMissing(values: Values): boolean {
  if (values.isSet('ignore-not-found')) return values.bool('ignore-not-found');
  return values.bool('all') || values.isSet('selector') || values.isSet('field-selector');
}

async function victimsOf(invocation: Invocation): Promise<{ victims: Victim[]; errors: unknown[] }> {
  const { api, values, args, namespace } = invocation;
  const catalog = await api.catalog();
  if (readsFiles(values)) {
    refuseArguments(args);
    const manifests = await readManifests(invocation, catalog);
    return { victims: manifests.map((each) => ({ ...each, name: each.object.metadata.name ?? '' })), errors: [] };
  }
  const selection = { labelSelector: values.string('selector'), fieldSelector: values.string('field-selector') };
  const selects = values.bool('all') || values.isSet('selector') || values.isSet('field-selector');
  const victims: Victim[] = [];
  const errors: unknown[] = [];
  for (const { resource, names } of parseTargets(catalog, args)) {
    if (names.length === 0 && !selects) {
      throw new CommandError('resource(s) were provided, but no name was specified');
    }
    if (names.length > 0 && selects) {
      throw namesWithSelector(args);
    }
    const everywhere = values.bool('all-namespaces');
    const scope = resource.namespaced && !everywhere ? { namespace } : {};
    if (names.length > 0) {
      if (everywhere && resource.namespaced) {
        throw nameOfAllNamespaces();
      }
      victims.push(
        ...names.map((name) => ({ resource, name, namespace: resource.namespaced ? namespace : undefined })),
      );
      continue;
    }
    try {
      const objects = await api.list(resource, scope, selection);
      victims.push(
        ...objects.map(({ metadata }) => ({ resource, name: metadata.name ?? '', namespace: metadata.namespace })),
      );
    } catch (error) {
      errors.push(error);
    }
  }
  return { victims, errors };
}

interface Way {
  readonly policy: string;
  readonly grace: number;
  readonly dryRun: DryRun;
}

/** The UID of the deleted object. */
async function deleteOne(
  invocation: Invocation,
  { resource, name, namespace, source }: Victim,
  { policy, grace, dryRun }: Way,
): Promise<string | undefined> {
  const path = objectPath(resource, name, scopeOf(namespace));
  const options = {
    kind: 'DeleteOptions',
    apiVersion: 'v1',
    propagationPolicy: policy,
    ...(grace >= 0 ? { gracePeriodSeconds: grace } : {}),
  };
  try {
    const query = { dryRun: dryRun === 'server' ? 'All' : undefined };
    const answer = await invocation.api.json<Partial<ApiObject> & { details?: { uid?: string } }>(
      'DELETE',
      withQuery(path, query),
      options,
    );
    return answer.details?.uid ?? answer.metadata?.uid;
  } catch (error) {
    const sharper = await sharperError(invocation, error, namespace);
    throw source === undefined ? sharper : withSource('deleting', source, sharper);
  }
}

/** `pod "web" deleted`. */
function lineOf({ resource, name }: Victim, values: Values, grace: number, dryRun: DryRun): string {
  const kind = resource.kind.toLowerCase();
  const type = resource.group === '' ? kind : `${kind}.${resource.group}`;
  if (values.string('output') === 'name') return `${type}/${name}`;
  const suffix = dryRun === 'none' ? '' : dryRun === 'client' ? ' (dry run)' : ' (server dry run)';
  return `${type} ${JSON.stringify(name)} ${grace === 0 ? 'force deleted' : 'deleted'}${suffix}`;
}

/** Watches the object until it is deleted or replaced. */
async function untilGone(
  { api, signal }: Invocation,
  { resource, name, namespace }: Victim,
  uid: string | undefined,
  limit: AbortSignal | undefined,
): Promise<void> {
  const selection = { fieldSelector: `metadata.name=${name}` };
  const stop = new AbortController();
  const both = AbortSignal.any([signal, stop.signal, ...(limit === undefined ? [] : [limit])]);
  while (!both.aborted) {
    const [object] = await api.list(resource, { namespace }, selection);
    if (object === undefined || (uid !== undefined && object.metadata.uid !== uid)) return;
    const resourceVersion = object.metadata.resourceVersion;
    try {
      for await (const event of api.watch(resource, { namespace }, { ...selection, resourceVersion }, both)) {
        if (event.type === 'DELETED') {
          stop.abort();
          return;
        }
      }
    } catch (error) {
      if (!both.aborted) throw error;
    }
  }
  if (limit?.aborted === true) {
    throw new CommandError(`timed out waiting for the condition on ${resource.resource}/${name}`);
  }
}
