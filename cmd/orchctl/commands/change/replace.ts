/** `replace`: objects by those in files, as a whole. */
import { isNotFound } from '#apimachinery/errors/status.js';
import type { ApiObject } from '#client/client.js';
import { collectionPath, objectPath, withQuery } from '#cmd/orchctl/api/api.js';
import { withAppliedAnnotation } from '#cmd/orchctl/commands/applied.js';
import { checkedManifests } from '#cmd/orchctl/commands/checked-manifests.js';
import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import { saveConfigOption } from '#cmd/orchctl/commands/create/builder.js';
import type { Manifest } from '#cmd/orchctl/commands/manifests.js';
import { dryRunOption, filenameOptions, managerOption } from '#cmd/orchctl/commands/options.js';
import { scopeOf } from '#cmd/orchctl/commands/selection.js';
import { dryRunOf, resultPrinter, withSource, writeQuery } from '#cmd/orchctl/commands/writing.js';
import { printOptions } from '#cmd/orchctl/print/formats.js';
import { CommandError, throwAll } from '#cmd/orchctl/terminal/errors.js';
import { directiveOf, validateOption } from '#cmd/orchctl/validation/validate.js';

export const replace: Command = {
  name: 'replace',
  usage: '-f FILE',
  summary: 'Replace objects by those in files',
  examples: ['orchctl replace -f web.yaml', 'orchctl replace --force -f pod.yaml'],
  options: {
    ...filenameOptions,
    ...printOptions,
    ...validateOption,
    ...dryRunOption,
    ...managerOption('orchctl-replace'),
    ...saveConfigOption,
    force: { type: 'bool', section: 'Writing', meaning: 'Delete the objects and create them again.' },
    'grace-period': {
      type: 'int',
      default: -1,
      section: 'Writing',
      meaning: 'With --force: seconds for pods to terminate.',
    },
    timeout: {
      type: 'duration',
      section: 'Writing',
      meaning: 'With --force: wait this long for the deletion; 0: no limit.',
    },
  },
  async run(invocation) {
    const { api, values } = invocation;
    const directive = directiveOf(values.string('validate') ?? 'strict');
    const dryRun = dryRunOf(values);
    if (values.number('grace-period') >= 0 && !values.bool('force')) {
      throw new CommandError('--grace-period must have --force specified');
    }
    if (values.number('timeout') !== 0 && !values.bool('force')) {
      throw new CommandError('--timeout must have --force specified');
    }
    const manifests = await checkedManifests(invocation, directive);
    const print = await resultPrinter(invocation, dryRun);
    const failures: unknown[] = [];
    for (const manifest of manifests) {
      const { resource, namespace, source } = manifest;
      const placed = inPlace(manifest);
      const object = values.bool('save-config') ? await withAppliedAnnotation(placed, invocation) : placed;
      const scope = scopeOf(namespace);
      const name = object.metadata.name ?? '';
      const query = { ...writeQuery(values, dryRun), fieldValidation: directive };
      try {
        if (dryRun === 'client') print(object, 'replaced');
        else if (values.bool('force')) {
          if (dryRun === 'none') await remove(invocation, objectPath(resource, name, scope));
          print(
            await api.json<ApiObject>('POST', withQuery(collectionPath(resource, scope), query), object),
            'replaced',
          );
        } else {
          print(
            await api.json<ApiObject>('PUT', withQuery(objectPath(resource, name, scope), query), object),
            'replaced',
          );
        }
      } catch (error) {
        failures.push(withSource('replacing', source, error));
      }
    }
    throwAll(failures);
    if (manifests.length === 0) throw new CommandError('no objects passed to replace');
    return 0;
  },
};

function inPlace({ object, namespace }: Manifest): ApiObject {
  return namespace === undefined ? object : { ...object, metadata: { ...object.metadata, namespace } };
}

/** Deletes the object and waits until it is gone. */
async function remove({ api, clock, err, signal, values }: Invocation, path: string): Promise<void> {
  const grace = values.number('grace-period');
  if (grace === 0) {
    err.write(
      'warning: Immediate deletion does not wait for confirmation that the running resource has been terminated. The resource may continue to run on the cluster indefinitely.\n',
    );
  }
  const timeoutMs = values.number('timeout');
  const endMs = timeoutMs > 0 ? clock.now() + timeoutMs : Number.POSITIVE_INFINITY;
  try {
    await api.json('DELETE', path, {
      kind: 'DeleteOptions',
      apiVersion: 'v1',
      propagationPolicy: 'Background',
      ...(grace >= 0 ? { gracePeriodSeconds: grace } : {}),
    });
    for (;;) {
      await api.json('GET', path);
      if (clock.now() >= endMs) throw new CommandError('timed out waiting for the condition');
      await clock.sleep(pollMs, signal);
    }
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

/** How often the command looks whether the old object is gone. */
const pollMs = 500;
