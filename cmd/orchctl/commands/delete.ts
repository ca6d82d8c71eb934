import { messageOf } from '#apimachinery/errors/message.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import type { ApiObject } from '#client/client.js';
import { objectPath } from '#cmd/orchctl/api/api.js';
import { objectName, parseTargets, type ServedResource } from '#cmd/orchctl/api/resources.js';
import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import { readManifests } from '#cmd/orchctl/commands/manifests.js';
import { filenameOptions, selectorOptions } from '#cmd/orchctl/commands/options.js';
import { CommandError, UsageError } from '#cmd/orchctl/terminal/errors.js';

interface Victim {
  readonly resource: ServedResource;
  readonly name: string;
  readonly namespace: string | undefined;
}

export const deleteCommand: Command = {
  name: 'delete',
  usage: '(TYPE NAME… | TYPE/NAME… | TYPE -l SELECTOR | TYPE --all | -f FILE)',
  summary: 'Delete objects and wait until they are gone',
  examples: ['orchctl delete -f examples/', 'orchctl delete pod web-0', 'orchctl delete pods -l app=web --wait=false'],
  options: {
    ...filenameOptions,
    ...selectorOptions,
    all: { type: 'bool', section: 'Selection', meaning: 'All objects of the type in the namespace.' },
    'grace-period': {
      type: 'int',
      default: -1,
      section: 'Deletion',
      meaning: "Seconds for pods to terminate; negative: the object's own value.",
    },
    force: {
      type: 'bool',
      section: 'Deletion',
      meaning: 'Remove pods at once without waiting for the node (grace period 0).',
    },
    cascade: {
      type: 'string',
      default: 'background',
      oneOf: ['background', 'foreground', 'orphan'],
      section: 'Deletion',
      meaning: 'How to treat objects that this one owns.',
    },
    wait: { type: 'bool', default: true, section: 'Deletion', meaning: 'Wait until the objects are gone.' },
    timeout: { type: 'duration', section: 'Deletion', meaning: 'Stop waiting after this long; 0: no limit.' },
    'ignore-not-found': { type: 'bool', section: 'Deletion', meaning: 'Treat a missing object as success.' },
  },
  async run(invocation) {
    const { api, values, out, err } = invocation;
    const victims = await victimsOf(invocation);
    if (victims.length === 0) out.write('No resources found\n');
    const options = deleteOptions(invocation);
    const waiting: { victim: Victim; uid: string | undefined }[] = [];
    let failures = 0;
    for (const victim of victims) {
      const path = objectPath(victim.resource, victim.name, victim);
      try {
        const answer = await api.json<ApiObject & { details?: { uid?: string } }>('DELETE', path, options);
        out.write(
          `${objectName(victim.resource, victim.name)} ${values.bool('force') ? 'force deleted' : 'deleted'}\n`,
        );
        waiting.push({ victim, uid: answer.details?.uid ?? answer.metadata.uid });
      } catch (error) {
        if (isNotFound(error) && values.bool('ignore-not-found')) continue;
        // Continue with the other objects; the exit code reports that there were failures.
        err.write(`error: ${messageOf(error)}\n`);
        failures++;
      }
    }
    if (values.bool('wait')) {
      const timeoutMs = values.number('timeout');
      const limit = timeoutMs > 0 ? AbortSignal.timeout(timeoutMs) : undefined;
      for (const { victim, uid } of waiting) await untilGone(invocation, victim, uid, limit);
    }
    return failures === 0 ? 0 : 1;
  },
};

async function victimsOf(invocation: Invocation): Promise<Victim[]> {
  const { api, values, args, namespace } = invocation;
  const catalog = await api.catalog();
  if (values.strings('filename').length > 0) {
    const manifests = await readManifests(invocation, catalog);
    return manifests.map((m) => ({ resource: m.resource, name: m.object.metadata.name ?? '', namespace: m.namespace }));
  }
  const victims: Victim[] = [];
  for (const { resource, names } of parseTargets(catalog, args)) {
    const scope = { namespace: resource.namespaced ? namespace : undefined };
    const selection = { labelSelector: values.string('selector'), fieldSelector: values.string('field-selector') };
    const narrowed = selection.labelSelector !== undefined || selection.fieldSelector !== undefined;
    if (names.length === 0 && !narrowed && !values.bool('all')) {
      throw new UsageError('specify a name, a selector (-l), or --all');
    }
    const objects =
      names.length > 0 ? names : (await api.list(resource, scope, selection)).map((o) => o.metadata.name ?? '');
    victims.push(...objects.map((name) => ({ resource, name, namespace: scope.namespace })));
  }
  return victims;
}

function deleteOptions({ values }: Invocation): Record<string, unknown> {
  const grace = values.bool('force') ? 0 : values.number('grace-period');
  const policies: Record<string, string> = { background: 'Background', foreground: 'Foreground', orphan: 'Orphan' };
  return {
    kind: 'DeleteOptions',
    apiVersion: 'v1',
    propagationPolicy: policies[values.string('cascade') ?? 'background'],
    ...(grace >= 0 ? { gracePeriodSeconds: grace } : {}),
  };
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
  if (limit?.aborted === true) throw new CommandError(`timed out waiting for ${objectName(resource, name)} to be gone`);
}
