/** What tells objects apart while names and namespaces change. Pure. */

import { schemeFor } from '#api/scheme.js';
import type { JsonObject } from '#apimachinery/codec/json/walk.js';
import { type GroupKey, groupKeys, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';

export interface Gvk {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

export interface Identity extends Gvk {
  readonly name: string;
  /** Empty: none is written. */
  readonly namespace: string;
}

/** An object on its way through a kustomization. */
export interface Resource {
  object: JsonObject;
  /** The identities that it had, the oldest first. */
  readonly previous: Identity[];
  readonly prefixes: string[];
  readonly suffixes: string[];
  /** Whether its name gets a hash of its content. */
  needsHash: boolean;
  /** How a generated object joins one with its identity. */
  readonly behavior: string;
  /** Names of the variables that it gives values to. */
  readonly variables: string[];
}

export function newResource(object: JsonObject, more: Partial<Resource> = {}): Resource {
  return { object, previous: [], prefixes: [], suffixes: [], needsHash: false, behavior: '', variables: [], ...more };
}

const text = (value: unknown) => (typeof value === 'string' ? value : '');

export function metadataOf(object: JsonObject): JsonObject {
  return (object['metadata'] ?? {}) as JsonObject;
}

/** Group and version of `apps/v1`; of `v1` no group. */
export function splitVersion(apiVersion: string): { group: string; version: string } {
  const at = apiVersion.indexOf('/');
  return at < 0
    ? { group: '', version: apiVersion }
    : { group: apiVersion.slice(0, at), version: apiVersion.slice(at + 1) };
}

export function currentIdentity({ object }: Resource): Identity {
  const { name, namespace } = metadataOf(object);
  return {
    ...splitVersion(text(object['apiVersion'])),
    kind: text(object['kind']),
    name: text(name),
    namespace: text(namespace),
  };
}

export function originalIdentity(resource: Resource): Identity {
  return resource.previous[0] ?? currentIdentity(resource);
}

export function allIdentities(resource: Resource): Identity[] {
  return [...resource.previous, currentIdentity(resource)];
}

/** To be called before name, namespace or kind change. */
export function rememberIdentity(resource: Resource): void {
  const identity = currentIdentity(resource);
  resource.previous.push({ ...identity, namespace: effectiveNamespace(identity) });
}

/** Kinds that release 1.24 serves without namespace; custom kinds are taken for namespaced ones. */
export function isClusterScoped({ group, version, kind }: Gvk): boolean {
  const apiVersion = group === '' ? version : `${group}/${version}`;
  return [kubernetesDialect, orchDialect].some((dialect) =>
    schemeFor(dialect).resources.some(
      ({ declaration, apiVersion: served }) =>
        served === apiVersion && declaration.kind === kind && !declaration.namespaced,
    ),
  );
}

const noNamespace = '_non_namespaceable_';

export function effectiveNamespace(identity: Identity): string {
  if (isClusterScoped(identity)) return noNamespace;
  return identity.namespace === '' ? 'default' : identity.namespace;
}

export function isSame(one: Identity, other: Identity): boolean {
  return isSameName(one, other) && effectiveNamespace(one) === effectiveNamespace(other);
}

export function isSameName(one: Identity, other: Identity): boolean {
  return (
    one.group === other.group && one.version === other.version && one.kind === other.kind && one.name === other.name
  );
}

/** Whether a group is that of the key in one of the dialects; a group that is no key is meant literally. */
export function isGroup(group: string, key: string): boolean {
  if (!(groupKeys as readonly string[]).includes(key)) return group === key;
  return [kubernetesDialect, orchDialect].some((dialect) => dialect.groupName(key as GroupKey) === group);
}

/** Empty members of the selector match everything; its group is a key of groups. */
export function isSelected(gvk: Gvk, selector: Partial<Gvk>): boolean {
  const { group = '', version = '', kind = '' } = selector;
  return (
    (group === '' || gvk.group === group || isGroup(gvk.group, group)) &&
    (version === '' || gvk.version === version) &&
    (kind === '' || gvk.kind === kind)
  );
}

export function isSelectedBy(identity: Identity, selector: Partial<Identity>): boolean {
  const { name = '', namespace = '' } = selector;
  return (
    (name === '' || name === identity.name) &&
    (namespace === '' || effectiveNamespace({ ...identity, namespace }) === effectiveNamespace(identity)) &&
    isSelected(identity, selector)
  );
}

/** `Deployment.v1.apps/web.[noNs]`, as messages name it. */
export function identityText({ group, version, kind, name, namespace }: Identity): string {
  const gvk = [kind || '[noKind]', version || '[noVer]', group || '[noGrp]'].join('.');
  return `${gvk}/${name || '[noName]'}.${namespace || '[noNs]'}`;
}
