/** The kinds that the server serves, from its discovery documents. Pure. */
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';

export interface Kind {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly shortNames: readonly string[];
}

export interface GroupList {
  readonly groups: readonly {
    readonly name: string;
    readonly preferredVersion?: { readonly groupVersion: string };
    readonly versions: readonly { readonly groupVersion: string }[];
  }[];
}

export interface ResourceList {
  readonly groupVersion: string;
  readonly resources: readonly {
    readonly name: string;
    readonly kind: string;
    readonly namespaced: boolean;
    readonly verbs: readonly string[];
    readonly shortNames?: readonly string[];
  }[];
}

/** Detected by the groups' names. */
export function dialectOf({ groups }: GroupList): Dialect {
  return groups.some(({ name }) => name.endsWith(`.${kubernetesDialect.apiDomain}`)) ? kubernetesDialect : orchDialect;
}

/** Kinds that can be listed. */
export function kindsOf({ groupVersion, resources }: ResourceList): Kind[] {
  const [first = '', second] = groupVersion.split('/');
  const [group, version] = second === undefined ? ['', first] : [first, second];
  return resources
    .filter(({ name, verbs }) => !name.includes('/') && verbs.includes('list'))
    .map(({ name, kind, namespaced, verbs, shortNames = [] }) => ({
      ...{ group, version, resource: name, kind, namespaced, verbs, shortNames },
    }));
}

export class Catalog {
  readonly kinds: readonly Kind[];
  readonly #byPlace: ReadonlyMap<string, Kind>;

  constructor(kinds: readonly Kind[]) {
    this.kinds = [...kinds].sort((a, b) => a.kind.localeCompare(b.kind) || a.group.localeCompare(b.group));
    this.#byPlace = new Map(kinds.map((kind) => [`${kind.group}/${kind.resource}`, kind]));
  }

  find(group: string, resource: string): Kind | undefined {
    return this.#byPlace.get(`${group}/${resource}`);
  }

  /** The kind of that resource in the group whose name begins so: `networking` finds it in both dialects. */
  wellKnown(group: string, resource: string): Kind | undefined {
    const isGroup = (name: string) => name === group || (group !== '' && name.startsWith(`${group}.`));
    return this.kinds.find((kind) => kind.resource === resource && isGroup(kind.group));
  }

  /** Of an object or a reference. */
  byKind(apiVersion: string, kind: string): Kind | undefined {
    const group = apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '';
    return this.kinds.find((each) => each.kind === kind && each.group === group);
  }
}

export function apiVersionOf({ group, version }: Pick<Kind, 'group' | 'version'>): string {
  return group === '' ? version : `${group}/${version}`;
}

/** Of the collection; without a namespace: of all. */
export function collectionPath({ group, version, resource, namespaced }: Kind, namespace?: string): string {
  const base = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const inside = namespaced && namespace !== undefined && namespace !== '';
  return `${base}${inside ? `/namespaces/${encodeURIComponent(namespace)}` : ''}/${resource}`;
}

export function objectPath(kind: Kind, namespace: string | undefined, name: string): string {
  return `${collectionPath(kind, namespace)}/${encodeURIComponent(name)}`;
}
