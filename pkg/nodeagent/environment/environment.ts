/** Builds the environment variables of a container. */
import type { ConfigMap, Container, EnvVar, Pod, Secret, Service } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { fieldValue, type PodFacts, resourceValue } from '#nodeagent/environment/field-ref.js';

export interface EnvironmentInput {
  readonly pod: Pod;
  readonly container: Container;
  readonly facts: PodFacts;
  readonly services: ReadonlyMap<string, string>;
  /** Undefined if it does not exist. */
  readonly configMap: (name: string) => Promise<ConfigMap | undefined>;
  readonly secret: (name: string) => Promise<Secret | undefined>;
  /** Called with keys that are no valid variable names, for an event. */
  readonly onInvalidKeys?: (source: string, keys: readonly string[]) => void;
}

/** The container's configuration is invalid; `CreateContainerConfigError` in its status. */
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

/** Undefined: the variable is omitted. */
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
 * The container's variables in order of increasing precedence: services, `envFrom`, `env`. Values may refer to earlier
 * variables. Throws ContainerConfigError if a referenced object or key is missing.
 */
export async function containerEnvironment(input: EnvironmentInput): Promise<Map<string, string>> {
  const result = new Map<string, string>();
  const definedVariables = new Map(input.services);
  await addFromSources(input, result);
  for (const [name, text] of result) definedVariables.set(name, text);
  for (const variable of input.container.env ?? []) {
    let text: string | undefined;
    if (variable.valueFrom === undefined) text = expand(variable.value ?? '', definedVariables);
    else {
      try {
        text = await variableValue(variable, input);
      } catch (error) {
        if (error instanceof RangeError) throw new ContainerConfigError(error.message, { cause: error });
        throw error;
      }
    }
    if (text === undefined) continue;
    definedVariables.set(variable.name, text);
    result.set(variable.name, text);
  }
  for (const [name, text] of input.services) if (!result.has(name)) result.set(name, text);
  return result;
}

const upperSnake = (name: string): string => name.toUpperCase().replaceAll('-', '_').replaceAll('.', '_');

function hasClusterIP(service: Service): boolean {
  const ip = service.spec.clusterIP ?? '';
  return ip !== '' && ip !== 'None' && service.spec.type !== 'ExternalName';
}

/** Variables that describe a service in the form of Docker links: `REDIS_SERVICE_HOST`, … */
function serviceLinks(service: Service, prefix: string): [string, string][] {
  const host = service.spec.clusterIP ?? '';
  const ports = service.spec.ports ?? [];
  const first = ports[0];
  if (first === undefined) return [[`${prefix}_SERVICE_HOST`, host]];
  const bracketed = host.includes(':') ? `[${host}]` : host;
  const variables: [string, string][] = [
    [`${prefix}_SERVICE_HOST`, host],
    [`${prefix}_SERVICE_PORT`, String(first.port)],
  ];
  for (const port of ports) {
    if (port.name !== undefined && port.name !== '') {
      variables.push([`${prefix}_SERVICE_PORT_${upperSnake(port.name)}`, String(port.port)]);
    }
  }
  for (const port of ports) {
    const protocol = (port.protocol ?? 'TCP').toLowerCase();
    const url = `${protocol}://${bracketed}:${port.port}`;
    const name = `${prefix}_PORT_${port.port}_${protocol.toUpperCase()}`;
    if (port === first) variables.push([`${prefix}_PORT`, url]);
    variables.push(
      [name, url],
      [`${name}_PROTO`, protocol],
      [`${name}_PORT`, String(port.port)],
      [`${name}_ADDR`, host],
    );
  }
  return variables;
}

/** Includes the API's own service in `apiNamespace`, and the pod's namespace's services if `enableServiceLinks` is true. */
export function serviceVariables(
  services: readonly Service[],
  pod: { namespace: string; apiNamespace: string; enableServiceLinks: boolean },
  dialect: Dialect,
): Map<string, string> {
  const chosen = new Map<string, Service>();
  for (const service of services) {
    if (!hasClusterIP(service)) continue;
    const name = service.metadata.name ?? '';
    const ofAPI = service.metadata.namespace === pod.apiNamespace && name === dialect.apiServiceName;
    const own = service.metadata.namespace === pod.namespace && pod.enableServiceLinks;
    if (own || (ofAPI && !chosen.has(name))) chosen.set(name, service);
  }
  const variables = new Map<string, string>();
  for (const [name, service] of [...chosen].sort(([a], [b]) => (a < b ? -1 : 1))) {
    for (const [key, text] of serviceLinks(service, upperSnake(name))) variables.set(key, text);
  }
  return variables;
}

/**
 * Replaces each `$(NAME)` whose variable exists; `$$(NAME)` is a literal `$(NAME)`; other names stay as they are
 * (release 1.24: third_party/forked/golang/expansion.)
 */
export function expand(text: string, variables: ReadonlyMap<string, string>, onUnknown?: () => void): string {
  if (!text.includes('$')) return text;
  return text.replace(/\$\$|\$\(([^)]*)\)/g, (match, name: string | undefined) => {
    if (match === '$$' || name === undefined) return '$';
    const value = variables.get(name);
    if (value === undefined) onUnknown?.();
    return value ?? match;
  });
}
