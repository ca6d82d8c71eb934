/** The variables of a container. */
import type { ConfigMap, Container, EnvVar, Pod, Secret } from '#api/core/v1/types.gen.js';
import { expand } from '#nodeagent/environment/expansion.js';
import { fieldValue, type PodFacts, resourceValue } from '#nodeagent/environment/field-ref.js';

export interface EnvironmentInput {
  readonly pod: Pod;
  readonly container: Container;
  readonly facts: PodFacts;
  readonly services: ReadonlyMap<string, string>;
  /** Undefined when it does not exist. */
  readonly configMap: (name: string) => Promise<ConfigMap | undefined>;
  readonly secret: (name: string) => Promise<Secret | undefined>;
  /** Names of keys that are no variable names, for an event. */
  readonly onInvalidKeys?: (source: string, keys: readonly string[]) => void;
}

/** The container's configuration cannot be made; `CreateContainerConfigError` in its status. */
export class ContainerConfigError extends Error {
  override readonly name = 'ContainerConfigError';
}

const variableName = /^[-._a-zA-Z][-._a-zA-Z0-9]*$/;

function decode(base64: string | undefined): string | undefined {
  return base64 === undefined ? undefined : Buffer.from(base64, 'base64').toString();
}

async function addFromSources(input: EnvironmentInput, result: Map<string, string>): Promise<void> {
  const { namespace = '' } = input.pod.metadata;
  for (const source of input.container.envFrom ?? []) {
    const kind = source.configMapRef === undefined ? 'secret' : 'configmap';
    const reference = source.configMapRef ?? source.secretRef;
    if (reference === undefined) continue;
    const name = reference.name ?? '';
    let data: Record<string, string> | undefined;
    if (source.configMapRef !== undefined) {
      const configMap = await input.configMap(name);
      data = configMap === undefined ? undefined : (configMap.data ?? {});
    } else {
      const secret = await input.secret(name);
      if (secret !== undefined) {
        data = Object.fromEntries(Object.entries(secret.data ?? {}).map(([key, text]) => [key, decode(text) ?? '']));
      }
    }
    if (data === undefined) {
      if (reference.optional === true) continue;
      throw new ContainerConfigError(`${kind} "${name}" not found`);
    }
    const invalid: string[] = [];
    for (const [key, text] of Object.entries(data)) {
      const full = `${source.prefix ?? ''}${key}`;
      if (variableName.test(full)) result.set(full, text);
      else invalid.push(full);
    }
    if (invalid.length > 0) input.onInvalidKeys?.(`${kind} ${namespace}/${name}`, invalid.sort());
  }
}

/** Undefined: the variable is left out. */
async function variableValue(variable: EnvVar, input: EnvironmentInput): Promise<string | undefined> {
  const { valueFrom: from } = variable;
  const { pod, container, facts } = input;
  const { namespace = '' } = pod.metadata;
  if (from === undefined) return undefined;
  if (from.fieldRef !== undefined) return fieldValue(pod, from.fieldRef.fieldPath, facts);
  if (from.resourceFieldRef !== undefined) return resourceValue(pod, from.resourceFieldRef, container, facts);
  const selector = from.configMapKeyRef ?? from.secretKeyRef;
  if (selector === undefined) return undefined;
  const kind = from.configMapKeyRef === undefined ? 'Secret' : 'ConfigMap';
  const name = selector.name ?? '';
  const optional = selector.optional === true;
  const data =
    kind === 'ConfigMap'
      ? await input.configMap(name).then((object) => object && { text: object.data?.[selector.key] })
      : await input.secret(name).then((object) => object && { text: decode(object.data?.[selector.key]) });
  if (data === undefined) {
    if (optional) return undefined;
    throw new ContainerConfigError(`${kind.toLowerCase()} "${name}" not found`);
  }
  if (data.text === undefined && !optional) {
    throw new ContainerConfigError(`couldn't find key ${selector.key} in ${kind} ${namespace}/${name}`);
  }
  return data.text;
}

/**
 * The container's variables in the order of precedence: services, `envFrom`, `env`. Values may refer to variables
 * before them. Throws ContainerConfigError when something it needs is not there.
 */
export async function containerEnvironment(input: EnvironmentInput): Promise<Map<string, string>> {
  const result = new Map<string, string>();
  const known = new Map(input.services);
  await addFromSources(input, result);
  for (const [name, text] of result) known.set(name, text);
  for (const variable of input.container.env ?? []) {
    let text: string | undefined;
    if (variable.valueFrom === undefined) text = expand(variable.value ?? '', known);
    else {
      try {
        text = await variableValue(variable, input);
      } catch (error) {
        if (error instanceof RangeError) throw new ContainerConfigError(error.message, { cause: error });
        throw error;
      }
    }
    if (text === undefined) continue;
    known.set(variable.name, text);
    result.set(variable.name, text);
  }
  for (const [name, text] of input.services) if (!result.has(name)) result.set(name, text);
  return result;
}
