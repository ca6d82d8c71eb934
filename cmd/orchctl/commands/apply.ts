import { isNotFound } from '#apimachinery/errors/status.js';
import type { ApiObject } from '#client/client.js';
import { objectPath, withQuery } from '#cmd/orchctl/api/api.js';
import { objectName } from '#cmd/orchctl/api/resources.js';
import type { Command } from '#cmd/orchctl/commands/command.js';
import { type Manifest, readManifests } from '#cmd/orchctl/commands/manifests.js';
import { filenameOptions } from '#cmd/orchctl/commands/options.js';
import { printOptions } from '#cmd/orchctl/print/formats.js';
import { directiveOf, validateManifests, validateOption } from '#cmd/orchctl/validation/validate.js';

export const fieldManager = 'orchctl';

export const apply: Command = {
  name: 'apply',
  usage: '-f FILE',
  summary: 'Bring objects to the state in files (server-side apply)',
  examples: ['orchctl apply -f examples/', 'cat web.yaml | orchctl apply -f -'],
  options: {
    ...filenameOptions,
    ...printOptions,
    ...validateOption,
    'force-conflicts': {
      type: 'bool',
      section: 'Writing',
      meaning: 'Take over fields that other managers own.',
    },
    'field-manager': {
      type: 'string',
      default: fieldManager,
      section: 'Writing',
      meaning: 'Name of the field manager that owns the applied fields.',
    },
    'dry-run': {
      type: 'string',
      oneOf: ['none', 'server'],
      default: 'none',
      section: 'Writing',
      meaning: 'With `server`: run the request without storing the result.',
    },
  },
  async run(invocation) {
    const { api, values, out, err } = invocation;
    const directive = directiveOf(values.string('validate') ?? 'strict');
    const manifests = await readManifests(invocation, await api.catalog());
    await validateManifests(manifests, {
      directive,
      document: () => api.openAPI(),
      warn: (text) => err.write(`${text}\n`),
    });
    const dryRun = values.string('dry-run') === 'server';
    for (const manifest of manifests) {
      const before = await current(manifest, (path) => api.json<ApiObject>('GET', path));
      const path = withQuery(pathOf(manifest), {
        fieldManager: values.string('field-manager'),
        force: values.bool('force-conflicts') ? 'true' : undefined,
        dryRun: dryRun ? 'All' : undefined,
        fieldValidation: directive,
      });
      const after = await api.json<ApiObject>('PATCH', path, manifest.object, {
        'content-type': 'application/apply-patch+yaml',
      });
      const verb = outcome(before, after);
      const name = objectName(manifest.resource, after.metadata.name ?? '');
      out.write(`${name} ${verb}${dryRun ? ' (server dry run)' : ''}\n`);
    }
    return 0;
  },
};

function pathOf({ resource, object, namespace }: Manifest): string {
  return objectPath(resource, object.metadata.name ?? '', { namespace });
}

async function current(manifest: Manifest, get: (path: string) => Promise<ApiObject>): Promise<ApiObject | undefined> {
  try {
    return await get(pathOf(manifest));
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

function outcome(before: ApiObject | undefined, after: ApiObject): string {
  if (before === undefined) return 'created';
  return before.metadata.resourceVersion === after.metadata.resourceVersion ? 'unchanged' : 'configured';
}
