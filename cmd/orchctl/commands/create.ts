import type { ApiObject } from '#client/client.js';
import { collectionPath, withQuery } from '#cmd/orchctl/api/api.js';
import { objectName } from '#cmd/orchctl/api/resources.js';
import { fieldManager } from '#cmd/orchctl/commands/apply.js';
import type { Command } from '#cmd/orchctl/commands/command.js';
import { type Manifest, readManifests } from '#cmd/orchctl/commands/manifests.js';
import { filenameOption } from '#cmd/orchctl/commands/options.js';
import { UsageError } from '#cmd/orchctl/terminal/errors.js';
import { directiveOf, validateManifests, validateOption } from '#cmd/orchctl/validation/validate.js';

export const create: Command = {
  name: 'create',
  usage: '(-f FILE | namespace NAME | configmap NAME --from-literal KEY=VALUE…)',
  summary: 'Create new objects',
  examples: [
    'orchctl create -f job.yaml',
    'orchctl create namespace shop',
    'orchctl create configmap colors --from-literal sky=blue',
  ],
  options: {
    ...filenameOption,
    ...validateOption,
    'from-literal': {
      type: 'stringArray',
      section: 'Content',
      meaning: 'KEY=VALUE of a configmap or secret; repeatable.',
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
    const { api, values, out, err, args, namespace } = invocation;
    const directive = directiveOf(values.string('validate') ?? 'strict');
    const catalog = await api.catalog();
    const manifests: Manifest[] = [];
    if (args.length > 0) {
      const object = objectFromArgs(args, values.strings('from-literal'));
      const resource = catalog.byKind(object.apiVersion ?? '', object.kind ?? '');
      manifests.push({ object, resource, namespace: resource.namespaced ? namespace : undefined, source: 'arguments' });
    } else manifests.push(...(await readManifests(invocation, catalog)));
    await validateManifests(manifests, {
      directive,
      document: () => api.openAPI(),
      warn: (text) => err.write(`${text}\n`),
    });
    const dryRun = values.string('dry-run') === 'server';
    for (const { object, resource, namespace: inside } of manifests) {
      const path = withQuery(collectionPath(resource, { namespace: inside }), {
        fieldManager,
        fieldValidation: directive,
        dryRun: dryRun ? 'All' : undefined,
      });
      const created = await api.json<ApiObject>('POST', path, object);
      out.write(`${objectName(resource, created.metadata.name ?? '')} created${dryRun ? ' (server dry run)' : ''}\n`);
    }
    return 0;
  },
};

function objectFromArgs(args: readonly string[], literals: readonly string[]): ApiObject {
  const [type, name, more] = args;
  if (name === undefined || more !== undefined) throw new UsageError('create needs a type and one name, or -f FILE');
  const metadata = { name };
  switch (type) {
    case 'namespace':
    case 'ns':
      return { apiVersion: 'v1', kind: 'Namespace', metadata };
    case 'serviceaccount':
    case 'sa':
      return { apiVersion: 'v1', kind: 'ServiceAccount', metadata };
    case 'configmap':
    case 'cm': {
      const data = Object.fromEntries(literals.map(keyValue));
      return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data } as ApiObject;
    }
    case 'secret': {
      const stringData = Object.fromEntries(literals.map(keyValue));
      return { apiVersion: 'v1', kind: 'Secret', metadata, stringData } as ApiObject;
    }
    default:
      throw new UsageError(`create cannot build a "${type}" from arguments: use -f FILE`);
  }
}

function keyValue(text: string): [string, string] {
  const at = text.indexOf('=');
  if (at <= 0) throw new UsageError(`--from-literal "${text}" is not KEY=VALUE`);
  return [text.slice(0, at), text.slice(at + 1)];
}
