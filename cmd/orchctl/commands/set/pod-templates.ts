/** Changes of the pods in objects: those of templates, and pods themselves. */
import type { Container, PodSpec } from '#api/core/v1/types.gen.js';
import { isJsonObject, type JsonObject } from '#apimachinery/codec/json/walk.js';
import { copyJson } from '#apimachinery/collections/copy.js';
import type { Draft } from '#apimachinery/draft.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { type MergeRules, strategicDiff } from '#apimachinery/patch/strategic-diff.js';
import type { ApiObject } from '#client/client.js';
import { sendPatch } from '#cmd/orchctl/commands/change/patching.js';
import type { Invocation } from '#cmd/orchctl/commands/command.js';
import {
  allOption,
  dryRunOption,
  filenameOptions,
  labelSelectorOption,
  managerOption,
} from '#cmd/orchctl/commands/options.js';
import { type Info, select } from '#cmd/orchctl/commands/selection.js';
import { dryRunOf, resultPrinter } from '#cmd/orchctl/commands/writing.js';
import { printOptions } from '#cmd/orchctl/print/formats.js';
import { CommandError, throwAll } from '#cmd/orchctl/terminal/errors.js';
import type { OptionTable } from '#daemon/options/option.js';

export const templateOptions = {
  ...filenameOptions,
  ...labelSelectorOption,
  ...printOptions,
  ...dryRunOption,
  ...managerOption('orchctl-set'),
  ...allOption,
  local: { type: 'bool', section: 'Writing', meaning: 'Change and print the objects of the files only.' },
} as const satisfies OptionTable;

export const containersOption = {
  containers: {
    type: 'string',
    shorthand: 'c',
    default: '*',
    section: 'Selection',
    meaning: 'Containers to change; may have *.',
  },
} as const satisfies OptionTable;

export interface TemplateChange {
  /** Arguments that name objects. */
  readonly resources: readonly string[];
  /** `image updated`. */
  readonly verb: string;
  /** Words in front of the server's refusal. */
  readonly failure: string;
  /** Changes the spec of the pods, in place. Errors are collected. */
  readonly change: (spec: Draft<PodSpec>, info: Info) => void;
}

/** The lists of pods that are merged by a key. */
const keys: Readonly<Record<string, string>> = { containers: 'name', initContainers: 'name', env: 'name' };
const podRules: MergeRules = {
  member: (key) => {
    const mergeKey = Object.hasOwn(keys, key) ? keys[key] : undefined;
    return mergeKey === undefined ? podRules : { member: podRules.member, mergeList: true, mergeKey };
  },
};

export async function changeTemplates(invocation: Invocation, setting: TemplateChange): Promise<number> {
  const { values } = invocation;
  const dryRun = dryRunOf(values);
  if (values.bool('local') && dryRun === 'server') {
    throw new CommandError('cannot specify --local and --dry-run=server - did you mean --dry-run=client?');
  }
  const { infos, errors } = await select(invocation, {
    args: setting.resources,
    fromFiles: values.bool('local'),
  });
  throwAll(errors);
  const print = await resultPrinter(invocation, dryRun);
  const failures: unknown[] = [];
  for (const info of infos) {
    try {
      const changed = changedObject(info, setting);
      const body = strategicDiff(plain(info.object), plain(changed), plain(info.object), podRules);
      if (Object.keys(body).length === 0) continue;
      if (values.bool('local') || dryRun === 'client') print(changed, setting.verb);
      else print(await send(invocation, info, body, setting.failure), setting.verb);
    } catch (error) {
      failures.push(error);
    }
  }
  throwAll(failures);
  return 0;
}

async function send(invocation: Invocation, info: Info, body: JsonObject, failure: string): Promise<ApiObject> {
  try {
    return await sendPatch(invocation, info, { type: 'strategic', body, dryRun: dryRunOf(invocation.values) });
  } catch (error) {
    throw new CommandError(`${failure}${messageOf(error)}`);
  }
}

const plain = (object: ApiObject) => object as unknown as JsonObject;

function changedObject(info: Info, { change }: TemplateChange): ApiObject {
  const copy = copyJson(info.object) as ApiObject;
  const spec = specIn(plain(copy));
  if (spec === undefined) {
    throw new CommandError(
      `${info.resource.resource}/${info.name} the object is not a pod or does not have a pod template: *${info.resource.version}.${info.resource.kind}\n`,
    );
  }
  change(spec as unknown as Draft<PodSpec>, info);
  return copy;
}

const paths: Readonly<Record<string, readonly string[]>> = {
  Pod: ['spec'],
  CronJob: ['spec', 'jobTemplate', 'spec', 'template', 'spec'],
};
const templatePath = ['spec', 'template', 'spec'];

function specIn(object: JsonObject): JsonObject | undefined {
  let value: unknown = object;
  for (const part of paths[String(object['kind'])] ?? templatePath) {
    value = isJsonObject(value) ? value[part] : undefined;
  }
  return isJsonObject(value) && Array.isArray(value['containers']) ? value : undefined;
}

/** The containers, and then the init containers, whose names match a pattern with `*`. */
export function containersLike(spec: Draft<PodSpec>, pattern: string): Draft<Container>[] {
  const expression = new RegExp(
    `^${pattern
      .split('*')
      .map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&'))
      .join('.*')}$`,
  );
  return [...(spec.containers ?? []), ...(spec.initContainers ?? [])].filter(
    ({ name }) => pattern === '*' || expression.test(name),
  );
}
