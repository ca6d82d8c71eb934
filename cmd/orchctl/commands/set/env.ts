/** `set env`: variables of containers. */
import type { EnvVar } from '#api/core/v1/types.gen.js';
import type { Draft } from '#apimachinery/draft.js';
import { envVarNameErrors } from '#apimachinery/validation/names.js';
import type { ApiObject } from '#client/client.js';
import { splitArguments } from '#cmd/orchctl/commands/change/pairs.js';
import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import { readsFiles } from '#cmd/orchctl/commands/manifests.js';
import { select } from '#cmd/orchctl/commands/selection.js';
import {
  changeTemplates,
  containersLike,
  containersOption,
  templateOptions,
} from '#cmd/orchctl/commands/set/pod-templates.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';

type Variable = Draft<EnvVar>;

export const env: Command = {
  name: 'env',
  usage: '(TYPE NAME | TYPE/NAME | -f FILE) NAME=VALUE… NAME-…',
  summary: 'Set, remove and list variables of containers',
  examples: [
    'orchctl set env deployment/web LEVEL=debug',
    'orchctl set env deployment/web LEVEL-',
    'orchctl set env deployment/web --from=configmap/colors --prefix=COLOR_',
    'orchctl set env pods --all --list',
  ],
  completes: 'objects',
  options: {
    ...templateOptions,
    ...containersOption,
    env: { type: 'stringArray', shorthand: 'e', section: 'Content', meaning: 'NAME=VALUE; may be repeated.' },
    from: {
      type: 'string',
      section: 'Content',
      meaning: 'ConfigMap or secret whose keys become variables: TYPE/NAME.',
    },
    keys: { type: 'strings', section: 'Content', meaning: 'With --from: only these keys.' },
    prefix: { type: 'string', section: 'Content', meaning: 'With --from: beginning of the names.' },
    list: { type: 'bool', section: 'Output', meaning: 'Print the variables.' },
    overwrite: {
      type: 'bool',
      default: true,
      section: 'Writing',
      meaning: 'Replace variables that have another value.',
    },
  },
  async run(invocation) {
    const { args, err, out, values } = invocation;
    const { resources, pairs } = splitArguments(args, 'environment');
    if (resources.length === 0 && !readsFiles(values)) {
      throw new CommandError('one or more resources must be specified as <resource> <name> or <resource>/<name>');
    }
    if (values.bool('list') && values.isSet('output')) {
      throw new CommandError('--list and --output may not be specified together');
    }
    if (values.isSet('keys') && !values.isSet('from')) {
      throw new CommandError('when specifying --keys, a configmap or secret must be provided with --from');
    }
    const { set, removed } = parse([...values.strings('env'), ...pairs]);
    const prefix = values.string('prefix') ?? '';
    const variables = [...set, ...(await fromObject(invocation))].map((each) => ({
      ...each,
      name: `${prefix}${each.name}`,
    }));
    const pattern = values.string('containers') ?? '*';
    const isList = values.bool('list');
    return changeTemplates(invocation, {
      resources,
      verb: 'env updated',
      failure: 'failed to patch env update to pod template: ',
      change(spec, { object, name }) {
        const chosen = containersLike(spec, pattern);
        if (chosen.length === 0) {
          err.write(
            `warning: ${object.kind ?? ''}/${name} does not have any containers matching ${JSON.stringify(pattern)}\n`,
          );
        }
        for (const container of chosen) {
          if (!values.bool('overwrite')) checkOverwrites(container.env ?? [], variables);
          const changed = withChanges(container.env ?? [], variables, removed);
          if (isList) {
            out.write(`# ${object.kind ?? ''} ${name}, container ${container.name}\n`);
            for (const each of changed) out.write(`${listed(each)}\n`);
          } else if (changed.length > 0) container.env = changed;
          else delete container.env;
        }
      },
    });
  },
};

function parse(specs: readonly string[]): { set: Variable[]; removed: Set<string> } {
  const set: Variable[] = [];
  const removed = new Set<string>();
  for (const spec of specs) {
    const at = spec.indexOf('=');
    if (at < 0) {
      if (!spec.endsWith('-')) throw new CommandError(`unknown environment variable: ${spec}`);
      removed.add(spec.slice(0, -1));
      continue;
    }
    const name = spec.slice(0, at);
    const faults = envVarNameErrors(name);
    if (faults.length > 0)
      throw new CommandError(`${JSON.stringify(name)} is not a valid key name: ${faults.join(';')}`);
    set.push({ name, value: spec.slice(at + 1) });
  }
  if (set.some(({ name }) => removed.has(name))) {
    throw new CommandError('can not both modify and remove the same environment variable in the same command');
  }
  return { set, removed };
}

/** Variables for the keys of the object that `--from` names. */
async function fromObject(invocation: Invocation): Promise<Variable[]> {
  const { err, values } = invocation;
  const from = values.string('from') ?? '';
  if (from === '') return [];
  const keys = values.strings('keys');
  const { infos, errors } = await select({ ...invocation, values: withoutFiles(values) }, { args: [from] });
  if (errors.length > 0) throw errors[0];
  return infos.flatMap(({ object, name }) => {
    const data = Object.keys((object as ApiObject & { data?: object }).data ?? {});
    return data
      .filter((key) => keys.length === 0 || keys.includes(key))
      .sort()
      .map((key): Variable => {
        const variable = key.replaceAll(/[^a-zA-Z0-9_]/g, '_').toUpperCase();
        if (variable !== key) err.write(`warning: key ${key} transferred to ${variable}\n`);
        if (object.kind === 'Secret') return { name: variable, valueFrom: { secretKeyRef: { name, key } } };
        if (object.kind === 'ConfigMap') return { name: variable, valueFrom: { configMapKeyRef: { name, key } } };
        throw new CommandError('unsupported resource specified in --from');
      });
  });
}

function withoutFiles(values: Invocation['values']): Invocation['values'] {
  return { ...values, strings: (name) => (name === 'filename' ? [] : values.strings(name)) };
}

function checkOverwrites(present: readonly Variable[], variables: readonly Variable[]): void {
  const conflict = present.find(({ name }) => variables.some((each) => each.name === name));
  if (conflict !== undefined) {
    throw new CommandError(
      `'${conflict.name}' already has a value (${conflict.value ?? ''}), and --overwrite is false`,
    );
  }
}

/** New values stay in the place of the old ones. */
function withChanges(
  present: readonly Variable[],
  variables: readonly Variable[],
  removed: ReadonlySet<string>,
): Variable[] {
  const result = present.filter(({ name }) => !removed.has(name));
  for (const variable of variables) {
    const at = result.findIndex(({ name }) => name === variable.name);
    if (at < 0) result.push(variable);
    else result[at] = variable;
  }
  return result;
}

function listed({ name, value = '', valueFrom }: Variable): string {
  if (valueFrom === undefined) return `${name}=${value}`;
  return `# ${name} from ${source(valueFrom)}`;
}

function source({
  configMapKeyRef,
  fieldRef,
  resourceFieldRef,
  secretKeyRef,
}: NonNullable<Variable['valueFrom']>): string {
  if (configMapKeyRef !== undefined) return `configmap ${configMapKeyRef.name ?? ''}, key ${configMapKeyRef.key}`;
  if (secretKeyRef !== undefined) return `secret ${secretKeyRef.name ?? ''}, key ${secretKeyRef.key}`;
  if (fieldRef !== undefined) return `field path ${fieldRef.fieldPath}`;
  if (resourceFieldRef === undefined) return 'invalid valueFrom';
  const { containerName = '', resource } = resourceFieldRef;
  return `resource field ${containerName === '' ? '' : `${containerName}/`}${resource}`;
}
