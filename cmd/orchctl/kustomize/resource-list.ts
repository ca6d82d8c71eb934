/** The objects of a kustomization in their order, of which no two have one identity. */

import type { JsonObject } from '#apimachinery/codec/json/walk.js';
import { parseLabelSelector } from '#apimachinery/selectors/label-parser.js';
import {
  allIdentities,
  currentIdentity,
  effectiveNamespace,
  type Identity,
  identityText,
  isClusterScoped,
  isGroup,
  isSame,
  metadataOf,
  originalIdentity,
  type Resource,
} from '#cmd/orchctl/kustomize/identity.js';
import type { Selector } from '#cmd/orchctl/kustomize/kustomization.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';

type Texts = Readonly<Record<string, string>>;

export class ResourceList {
  #all: Resource[] = [];

  get all(): readonly Resource[] {
    return this.#all;
  }

  /** Throws a CommandError for an identity that is there already. */
  append(resource: Resource): void {
    const identity = currentIdentity(resource);
    if (this.#all.some((each) => isSame(currentIdentity(each), identity))) {
      throw new CommandError(`may not add resource with an already registered id: ${identityText(identity)}`);
    }
    this.#all.push(resource);
  }

  appendAll(others: readonly Resource[]): void {
    for (const each of others) this.append(each);
  }

  keep(keeps: (resource: Resource) => boolean): void {
    this.#all = this.#all.filter(keeps);
  }

  withAnyIdentity(matches: (identity: Identity) => boolean): Resource[] {
    return this.#all.filter((each) => allIdentities(each).some(matches));
  }

  /** The one object that has, or had, the identity. Throws a CommandError. */
  only(identity: Identity): Resource {
    const matches = this.withAnyIdentity((each) => isSame(each, identity));
    const [resource, another] = matches;
    const name = identityText(identity);
    if (resource === undefined || another !== undefined) {
      throw new CommandError(
        `${resource === undefined ? 'no' : 'multiple'} matches for Id ${name}; failed to find unique target for patch ${name}`,
      );
    }
    return resource;
  }

  /** Adds a generated object, or joins it with the one that has its identity. Throws a CommandError. */
  absorb(resource: Resource): void {
    const identity = currentIdentity(resource);
    const matches = this.withAnyIdentity((each) => isSame(each, identity));
    const joins = resource.behavior === 'merge' || resource.behavior === 'replace';
    const name = identityText(identity);
    if (matches.length > 1) throw new CommandError(`found multiple objects that could accept merge of ${name}`);
    const [old] = matches;
    if (old === undefined) {
      if (joins) throw new CommandError(`id ${name} does not exist; cannot merge or replace`);
      this.append(resource);
      return;
    }
    if (!joins) throw new CommandError(`id ${name} exists; behavior must be merge or replace`);
    this.#all[this.#all.indexOf(old)] = joined(old, resource);
  }

  /** Patterns match whole words; of names and namespaces the first and the current one count. Throws a CommandError. */
  select(selector: Selector): Resource[] {
    const { group = '', version = '', kind = '', name = '', namespace = '' } = selector;
    const labels = parseLabelSelector(selector.labelSelector ?? '');
    const annotations = parseLabelSelector(selector.annotationSelector ?? '');
    const [ofGroup, ofVersion, ofKind, ofName, ofNamespace] = [group, version, kind, name, namespace].map(pattern);
    return this.#all.filter((each) => {
      const [original, current] = [originalIdentity(each), currentIdentity(each)];
      const metadata = metadataOf(each.object) as { labels?: Texts; annotations?: Texts };
      return (
        [original, current].some((identity) => ofNamespace?.(effectiveNamespace(identity)) === true) &&
        [original, current].some((identity) => ofName?.(identity.name) === true) &&
        (ofGroup?.(current.group) === true || isGroup(current.group, group)) &&
        ofVersion?.(current.version) === true &&
        ofKind?.(current.kind) === true &&
        labels.matches(metadata.labels ?? {}) &&
        annotations.matches(metadata.annotations ?? {})
      );
    });
  }

  /** Objects that the referrer may name: those of its namespace and of none, and accounts that it binds. */
  candidatesFor(referrer: Resource): Resource[] {
    const identity = currentIdentity(referrer);
    if (isClusterScoped(identity)) return [...this.#all];
    const subjects = identity.kind === 'RoleBinding' ? referrer.object['subjects'] : undefined;
    const bound = new Set(
      (Array.isArray(subjects) ? (subjects as JsonObject[]) : [])
        .filter(({ kind }) => kind === 'ServiceAccount')
        .map(({ namespace }) => namespace),
    );
    return this.#all.filter((each) => {
      const other = currentIdentity(each);
      return (
        isClusterScoped(other) ||
        effectiveNamespace(other) === effectiveNamespace(identity) ||
        bound.has(other.namespace === '' ? undefined : other.namespace)
      );
    });
  }
}

function pattern(text: string): (value: string) => boolean {
  if (text === '') return () => true;
  let expression: RegExp;
  try {
    expression = new RegExp(`^(?:${text})$`);
  } catch {
    throw new CommandError(`error parsing regexp: ${JSON.stringify(text)}`);
  }
  return (value) => expression.test(value);
}

/** The generated object with the other's name, and what it lacks of the other's labels, annotations and, merged, data. */
function joined(old: Resource, generated: Resource): Resource {
  const object = { ...generated.object };
  const [before, after] = [metadataOf(old.object), metadataOf(object)];
  const merged = (key: string, one: JsonObject, other: JsonObject) => {
    const all = { ...(one[key] as JsonObject | undefined), ...(other[key] as JsonObject | undefined) };
    return Object.keys(all).length === 0 ? {} : { [key]: all };
  };
  const { labels: _labels, annotations: _annotations, namespace: _namespace, ...metadata } = after;
  object['metadata'] = {
    ...metadata,
    name: before['name'],
    ...(before['namespace'] === undefined ? {} : { namespace: before['namespace'] }),
    ...merged('labels', before, after),
    ...merged('annotations', before, after),
  };
  if (generated.behavior === 'merge') {
    Object.assign(object, merged('data', old.object, object), merged('binaryData', old.object, object));
  }
  return {
    ...generated,
    object,
    previous: [...old.previous],
    prefixes: [...old.prefixes],
    suffixes: [...old.suffixes],
    needsHash: old.needsHash,
    variables: [...old.variables],
  };
}
