/** `kustomize`: prints the objects of a kustomization. */
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from '#apimachinery/codec/json/walk.js';
import { kustomizeNames } from '#apimachinery/dialect.js';
import type { Command } from '#cmd/orchctl/commands/command.js';
import { objectText } from '#cmd/orchctl/print/object.js';
import { CommandError, UsageError } from '#cmd/orchctl/terminal/errors.js';

export const kustomize: Command = {
  name: 'kustomize',
  usage: '[DIR]',
  summary: 'Print the objects of a kustomization',
  examples: [
    'orchctl kustomize overlays/production',
    "orchctl kustomize 'https://github.com/kubernetes-sigs/kustomize//examples/helloWorld?ref=v3.3.1'",
    'orchctl apply -k overlays/production',
  ],
  offline: true,
  options: {
    output: {
      type: 'string',
      shorthand: 'o',
      section: 'Output',
      meaning: 'File, or folder of a file for each object.',
    },
    reorder: {
      type: 'string',
      default: 'legacy',
      section: 'Output',
      meaning: 'legacy: what others need comes first; none: the order of the files.',
    },
    'load-restrictor': {
      type: 'string',
      default: 'LoadRestrictionsRootOnly',
      section: 'Reading',
      meaning: 'LoadRestrictionsRootOnly: files lie in or below the folder that names them; LoadRestrictionsNone.',
    },
    'enable-managedby-label': {
      type: 'bool',
      section: 'Output',
      meaning: `Add the label ${kustomizeNames.managedBy} to all objects.`,
    },
  },
  async run(invocation) {
    const { args, out, values } = invocation;
    const [folder = '.', more] = args;
    if (more !== undefined) {
      throw new UsageError('specify one path to kustomization.yaml');
    }
    const reorder = oneOf(invocation.values.string('reorder') ?? '', ['none', 'legacy'], 'reorder');
    const restrictor = oneOf(
      values.string('load-restrictor') ?? '',
      ['LoadRestrictionsRootOnly', 'LoadRestrictionsNone'],
      'load-restrictor',
    );
    const [{ runKustomization }, { inPrintOrder }] = await Promise.all([
      import('#cmd/orchctl/kustomize/run.js'),
      import('#cmd/orchctl/kustomize/order.js'),
    ]);
    const built = await runKustomization(folder, invocation, { anywhere: restrictor === 'LoadRestrictionsNone' });
    const objects = (reorder === 'legacy' ? inPrintOrder(built) : built).map((object) =>
      values.bool('enable-managedby-label') ? labelled(object) : object,
    );
    const output = values.string('output') ?? '';
    const text = objects.map((object) => objectText(object, 'yaml')).join('---\n');
    if (output === '') out.write(text);
    else if (statSync(output, { throwIfNoEntry: false })?.isDirectory() === true) {
      for (const object of objects) writeFileSync(join(output, fileName(object)), objectText(object, 'yaml'));
    } else writeFileSync(output, text);
    return 0;
  },
};

function oneOf(value: string, allowed: readonly string[], name: string): string {
  if (allowed.includes(value)) return value;
  throw new CommandError(`illegal flag value --${name} ${value}; legal values: [${allowed.join(' ')}]`);
}

/** The version of kustomize that release 1.24 has. */
const version = 'kustomize-v4.5.4';

function labelled(object: JsonObject): JsonObject {
  const metadata = object['metadata'] as JsonObject;
  const labels = { ...(metadata['labels'] as JsonObject | undefined), [kustomizeNames.managedBy]: version };
  return { ...object, metadata: { ...metadata, labels } };
}

/** `apps_v1_deployment_web.yaml`. */
function fileName({ apiVersion, kind, metadata }: JsonObject): string {
  const { name, namespace } = metadata as JsonObject;
  const parts = [...String(apiVersion).split('/'), kind, ...(namespace === undefined ? [] : [namespace]), name];
  return `${parts.map((part) => String(part).toLowerCase()).join('_')}.yaml`;
}
