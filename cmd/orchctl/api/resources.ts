/** Resolves resource names: `po`, `pod`, `pods`, `deployments.apps`, `deploy/web`. */
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { UsageError } from '#cmd/orchctl/terminal/errors.js';

/** A resource served by the API server. */
export interface ServedResource {
  /** Group name on the wire; empty for core. */
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly singular: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
}

/** Finds resources by any of their names. */
export class ResourceCatalog {
  readonly #resources: readonly ServedResource[];

  constructor(resources: readonly ServedResource[]) {
    this.#resources = resources;
  }

  get all(): readonly ServedResource[] {
    return this.#resources;
  }

  /** Detected by the groups' names. */
  get dialect(): Dialect {
    const end = `.${kubernetesDialect.apiDomain}`;
    return this.#resources.some(({ group }) => group.endsWith(end)) ? kubernetesDialect : orchDialect;
  }

  /** Each resource once, in the version that the server lists first in its group. */
  get preferred(): readonly ServedResource[] {
    const first = new Map<string, ServedResource>();
    for (const resource of this.#resources) {
      const id = `${resource.group}/${resource.resource}`;
      if (!first.has(id)) first.set(id, resource);
    }
    return [...first.values()];
  }

  /**
   * All resources for `names` (comma separated; may contain categories such as `all`); repeated names count once. Throws a
   * UsageError.
   */
  find(names: string): ServedResource[] {
    return [...new Set(names.split(','))].flatMap((name) => {
      const category = this.preferred.filter((r) => r.categories.includes(name.toLowerCase()));
      return category.length > 0 ? category : [this.one(name)];
    });
  }

  /**
   * The resource with that plural, singular, short name or kind, optionally followed by `.group` or `.version.group`.
   * Throws a UsageError.
   */
  one(name: string): ServedResource {
    const lower = name.toLowerCase();
    const dot = lower.indexOf('.');
    const plain = dot < 0 ? lower : lower.slice(0, dot);
    const place = dot < 0 ? undefined : lower.slice(dot + 1);
    const [, version, versionGroup] = /^(v\d+(?:(?:alpha|beta)\d+)?)\.(.*)$/.exec(place ?? '') ?? [];
    const group = versionGroup ?? place;
    const matches = this.#resources.filter(
      (r) =>
        (r.resource === plain ||
          r.singular === plain ||
          r.kind.toLowerCase() === plain ||
          r.shortNames.includes(plain)) &&
        (version === undefined || r.version === version) &&
        (group === undefined || r.group === group || r.group.startsWith(`${group}.`)),
    );
    // A name in several groups: core first, then in the server's order.
    const best = matches.find((r) => r.group === '') ?? matches[0];
    if (best === undefined) {
      throw new UsageError(`the server has no resource type "${name}"; see all with: orchctl api-resources`);
    }
    return best;
  }

  byKind(apiVersion: string, kind: string): ServedResource {
    const match = this.#resources.find((r) => apiVersionOf(r) === apiVersion && r.kind === kind);
    if (match === undefined) throw new UsageError(`the server has no kind "${kind}" in version "${apiVersion}"`);
    return match;
  }
}

export function apiVersionOf(resource: { group: string; version: string }): string {
  return resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
}

/** Object name as used by commands: `pod/web` or `deployment.apps/web`. */
export function objectName(resource: ServedResource, name: string): string {
  const type = resource.group === '' ? resource.singular : `${resource.singular}.${resource.group}`;
  return `${type}/${name}`;
}

/** The objects in a command's arguments: `TYPE NAME…`, `TYPE/NAME…` or `TYPE`. */
export interface Target {
  readonly resource: ServedResource;
  /** Empty: all objects of the type. */
  readonly names: readonly string[];
}

export function parseTargets(catalog: ResourceCatalog, args: readonly string[]): Target[] {
  const [first, ...rest] = args;
  if (first === undefined) throw new UsageError('name a resource type, such as: pods');
  if (args.some((arg) => arg.includes('/'))) {
    return args.map((arg) => {
      const [type, name, more] = arg.split('/');
      if (type === undefined || name === undefined || name === '' || more !== undefined) {
        throw new UsageError(`"${arg}" is not TYPE/NAME; with a slash in one argument all must have one`);
      }
      return { resource: catalog.one(type), names: [name] };
    });
  }
  const resources = catalog.find(first);
  if (resources.length > 1 && rest.length > 0) throw new UsageError('names can be given for one resource type only');
  return resources.map((resource) => ({ resource, names: rest }));
}
