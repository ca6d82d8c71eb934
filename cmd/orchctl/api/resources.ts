/** Resolves resource names: `po`, `pod`, `pods`, `deployments.apps`, `deploy/web`. */
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';

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
   * CommandError.
   */
  find(names: string): ServedResource[] {
    return [...new Set(names.split(','))].flatMap((name) => {
      const category = this.preferred.filter((r) => r.categories.includes(name.toLowerCase()));
      return category.length > 0 ? category : [this.one(name)];
    });
  }

  /**
   * The resource with that plural, singular, short name or kind, optionally followed by `.group` or `.version.group`.
   * Throws a CommandError.
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
      throw new CommandError(`the server doesn't have a resource type ${JSON.stringify(plain)}`);
    }
    return best;
  }

  byKind(apiVersion: string, kind: string): ServedResource {
    const match = this.#resources.find((r) => apiVersionOf(r) === apiVersion && r.kind === kind);
    if (match === undefined) throw new CommandError(noKind(apiVersion, kind));
    return match;
  }
}

/** The words of release 1.24 for a kind that the server does not have. */
export function noKind(apiVersion: string, kind: string): string {
  return `no matches for kind ${JSON.stringify(kind)} in version ${JSON.stringify(apiVersion)}`;
}

export function apiVersionOf(resource: { group: string; version: string }): string {
  return resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
}

/** Object name as used by commands: `pod/web` or `deployment.apps/web`. */
export function objectName(resource: ServedResource, name: string): string {
  const kind = resource.kind.toLowerCase();
  return `${resource.group === '' ? kind : `${kind}.${resource.group}`}/${name}`;
}

/** The objects in a command's arguments: `TYPE NAME…`, `TYPE/NAME…` or `TYPE`. */
export interface Target {
  readonly resource: ServedResource;
  /** Empty: all objects of the type. */
  readonly names: readonly string[];
}

/** What to name where a command has no objects, in the words of release 1.24. */
const missing = `You must provide one or more resources by argument or filename.
Example resource specifications include:
   '-f rsrc.yaml'
   '--filename=rsrc.json'
   '<resource> <name>'
   '<resource>'`;

/** Throws a CommandError. */
export function parseTargets(catalog: ResourceCatalog, args: readonly string[]): Target[] {
  const words = eachWithItsType(args);
  const [first, ...names] = words;
  if (first === undefined) throw new CommandError(missing);
  const slashes = words.filter((word) => word.includes('/')).length;
  if (slashes > 0) {
    if (slashes < words.length) throw new CommandError(mixed);
    return words.map((word) => {
      const [type = '', name = '', more] = word.split('/');
      if (more !== undefined) {
        throw new CommandError('arguments in resource/name form may not have more than one slash');
      }
      if (type === '' || name === '' || type.includes(',')) {
        throw new CommandError('arguments in resource/name form must have a single resource and name');
      }
      return { resource: catalog.one(type), names: [name] };
    });
  }
  const resources = catalog.find(first);
  if (resources.length > 1 && names.length > 0) throw new CommandError('you must specify only one resource');
  return resources.map((resource) => ({ resource, names }));
}

const mixed =
  "there is no need to specify a resource type as a separate argument when passing arguments in resource/name form (e.g. 'orchctl get resource/<resource_name>' instead of 'orchctl get resource resource/<resource_name>'";

/** `a,b NAME` names `a/NAME` and `b/NAME`. */
function eachWithItsType(args: readonly string[]): readonly string[] {
  const [types = '', ...names] = args;
  if (names.length === 0 || !types.includes(',')) return args;
  return types.split(',').flatMap((type) => names.map((name) => `${type}/${name}`));
}
