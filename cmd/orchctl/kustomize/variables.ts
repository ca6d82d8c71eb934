/** `vars`: `$(NAME)` in fields becomes the value of a field of another object. Pure. */
import { isJsonObject, type JsonObject } from '#apimachinery/codec/json/walk.js';
import { pathSteps, visitField } from '#cmd/orchctl/kustomize/field-path.js';
import {
  currentIdentity,
  type Identity,
  isClusterScoped,
  isSame,
  isSameName,
  isSelected,
  splitVersion,
} from '#cmd/orchctl/kustomize/identity.js';
import type { Variable } from '#cmd/orchctl/kustomize/kustomization.js';
import type { ResourceList } from '#cmd/orchctl/kustomize/resource-list.js';
import type { FieldSpec } from '#cmd/orchctl/kustomize/specs.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';

/** Remembers which objects give values, while they have the names by which the variables know them. Throws a CommandError. */
export function bindVariables(list: ResourceList, variables: readonly Variable[]): void {
  for (const variable of variables) {
    const target = targetOf(variable);
    const matches = target.namespace !== '' || isClusterScoped(target) ? isSame : isSameName;
    const objects = list.withAnyIdentity((each) => matches(target, each));
    if (objects.length > 1) {
      throw new CommandError(`found ${objects.length} resId matches for var ${variable.name} (unable to disambiguate)`);
    }
    objects[0]?.variables.push(variable.name);
  }
}

function targetOf({ objref }: Variable): Identity {
  const { group = '', version = '', kind = '', name = '', namespace = '', apiVersion } = objref;
  const gvk = apiVersion === undefined ? { group, version } : splitVersion(apiVersion);
  return { ...gvk, kind, name, namespace };
}

type Value = string | number | boolean;

/** Throws a CommandError for a variable without value. @returns Names of variables that nothing uses. */
export function resolveVariables(
  list: ResourceList,
  variables: readonly Variable[],
  specs: readonly FieldSpec[],
): string[] {
  const values = new Map(variables.map((each) => [each.name, fieldValue(list, each)]));
  const unused = new Set(values.keys());
  if (values.size === 0) return [];
  const expand = (text: string) =>
    expanded(text, (name) => {
      const value = values.get(name);
      if (value !== undefined) unused.delete(name);
      return value;
    });
  const replace = (holder: JsonObject | unknown[], key: string | number) => {
    const value: unknown = (holder as JsonObject)[key];
    if (typeof value === 'string') Object.assign(holder, { [key]: expand(value) });
    else if (Array.isArray(value)) {
      for (const index of value.keys()) if (typeof value[index] === 'string') replace(value, index);
    } else if (isJsonObject(value)) {
      for (const name of Object.keys(value)) if (typeof value[name] === 'string') replace(value, name);
    }
  };
  for (const resource of list.all) {
    const identity = currentIdentity(resource);
    for (const spec of specs) {
      if (isSelected(identity, spec)) visitField(resource.object, spec.path, { visit: replace });
    }
  }
  return [...unused].sort();
}

function fieldValue(list: ResourceList, { name, fieldref }: Variable): Value {
  const path = fieldref?.fieldPath ?? 'metadata.name';
  const resource = list.all.find(({ variables }) => variables.includes(name));
  if (resource === undefined) {
    throw new CommandError(`var '${name}' cannot be mapped to a field in the set of known resources`);
  }
  let value: unknown = resource.object;
  for (const step of fieldSteps(path)) {
    value = Array.isArray(value) ? value[Number(step)] : isJsonObject(value) ? value[step] : undefined;
  }
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  throw new CommandError(`field specified in var '${name}' not found in corresponding resource`);
}

/** `spec.ports[0].port` has the index as a step of its own. */
function fieldSteps(path: string): string[] {
  return pathSteps(path, '.').flatMap((step) =>
    step
      .replaceAll(/\[(\d+)\]/g, '\n$1')
      .split('\n')
      .filter(Boolean),
  );
}

/** A text that is one variable only takes the type of its value. */
function expanded(text: string, valueFor: (name: string) => Value | undefined): Value {
  const sole = /^\$\(([^)]*)\)$/.exec(text);
  if (sole?.[1] !== undefined) return valueFor(sole[1]) ?? text;
  return text.replaceAll(/\$\$|\$\(([^)]*)\)/g, (match, name: string | undefined) =>
    name === undefined ? '$' : String(valueFor(name) ?? match),
  );
}
