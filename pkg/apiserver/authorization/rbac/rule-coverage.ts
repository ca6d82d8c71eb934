/** Decides whether a user's rules cover other rules: users may not grant more rights than they have. */
import type { PolicyRule } from '#api/rbac/v1/types.gen.js';

const all = '*';

/**
 * Limit of single rights compared by one call. A rule stands for the product of its lists, so a role of a few megabytes can
 * contain too many rights; the rest counts as not covered.
 */
const maxAtoms = 20_000;

/** Limit of the owner's rules and names visited by one call; takes tens of milliseconds. */
const maxSteps = 1_000_000;

/** The parts of `requested` that `owned` does not cover, each with one verb, group and resource. */
export function uncoveredRules(owned: readonly PolicyRule[], requested: readonly PolicyRule[]): PolicyRule[] {
  const owners = new Owners(owned);
  const uncovered: PolicyRule[] = [];
  let left = maxAtoms;
  for (const rule of requested) {
    if (owners.coverWhole(rule)) continue;
    left -= atomsOf(rule);
    if (left < 0 || owners.exhausted) uncovered.push(rule);
    else {
      for (const atom of owners.uncoveredResources(rule)) uncovered.push(atom);
      for (const atom of owners.uncoveredPaths(rule)) uncovered.push(atom);
    }
  }
  return uncovered;
}

function atomsOf({
  verbs,
  apiGroups = [],
  resources = [],
  resourceNames = [],
  nonResourceURLs = [],
}: PolicyRule): number {
  const names = Math.max(1, resourceNames.length);
  return verbs.length * (apiGroups.length * resources.length * names + nonResourceURLs.length);
}

interface Owner {
  readonly verbs: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
  readonly resources: ReadonlySet<string>;
  readonly names: ReadonlySet<string>;
}

/** The names that the owner's right is limited to; undefined: all. */
type Right = { readonly names: ReadonlySet<string> | undefined };

/** The owner's rules, by the resources that they name. */
class Owners {
  readonly #byResource = new Map<string, Owner[]>();
  /** Cached rights by verb, group and resource: roles repeat them. */
  readonly #rights = new Map<string, Right>();
  #steps = 0;
  readonly #paths: { readonly verbs: ReadonlySet<string>; readonly pattern: string }[] = [];

  constructor(rules: readonly PolicyRule[]) {
    for (const rule of rules) {
      const owner: Owner = {
        verbs: new Set(rule.verbs),
        groups: new Set(rule.apiGroups),
        resources: new Set(rule.resources),
        names: new Set(rule.resourceNames),
      };
      for (const resource of owner.resources) {
        const owners = this.#byResource.get(resource);
        if (owners === undefined) this.#byResource.set(resource, [owner]);
        else owners.push(owner);
      }
      for (const pattern of rule.nonResourceURLs ?? []) this.#paths.push({ verbs: owner.verbs, pattern });
    }
  }

  /** True when `maxSteps` is exceeded. */
  get exhausted(): boolean {
    return this.#steps > maxSteps;
  }

  /** A shortcut for administrators: true when one rule about all resources covers the whole rule. */
  coverWhole({ verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] }: PolicyRule): boolean {
    if (nonResourceURLs.length > 0 || resources.length === 0) return false;
    const every = (values: readonly string[], held: (value: string) => boolean) =>
      values.every((value) => {
        this.#steps += 1;
        return held(value);
      });
    const covers = ({ verbs: ownVerbs, groups, names }: Owner) =>
      every(verbs, (verb) => has(ownVerbs, verb)) &&
      every(apiGroups, (group) => has(groups, group)) &&
      (names.size === 0 || (resourceNames.length > 0 && every(resourceNames, (name) => names.has(name))));
    return this.#some(this.#byResource.get(all) ?? [], covers);
  }

  *uncoveredResources(rule: PolicyRule): Iterable<PolicyRule> {
    const requestedNames = rule.resourceNames ?? [];
    for (const resource of rule.resources ?? []) {
      for (const group of rule.apiGroups ?? []) {
        for (const verb of rule.verbs) {
          const { names } = this.#right(verb, group, resource);
          if (names === undefined) continue;
          const atom = { apiGroups: [group], resources: [resource], verbs: [verb] };
          if (requestedNames.length === 0) yield atom;
          for (const name of requestedNames) {
            if (!names.has(name)) yield { ...atom, resourceNames: [name] };
          }
        }
      }
    }
  }

  #right(verb: string, group: string, resource: string): Right {
    const key = JSON.stringify([verb, group, resource]);
    const cached = this.#rights.get(key);
    if (cached !== undefined) return cached;
    const names = new Set<string>();
    const whole = this.#some(this.#about(resource), (owner) => {
      if (!has(owner.verbs, verb) || !has(owner.groups, group)) return false;
      this.#steps += owner.names.size;
      for (const name of owner.names) names.add(name);
      return owner.names.size === 0;
    });
    const right: Right = { names: whole ? undefined : names };
    this.#rights.set(key, right);
    return right;
  }

  /** Like `some`, but returns false when exhausted. */
  #some<T>(values: readonly T[], holds: (value: T) => boolean): boolean {
    for (const value of values) {
      this.#steps += 1;
      if (this.exhausted) return false;
      if (holds(value)) return true;
    }
    return false;
  }

  *uncoveredPaths(rule: PolicyRule): Iterable<PolicyRule> {
    for (const url of rule.nonResourceURLs ?? []) {
      const paths: ReadonlySet<string>[] = [];
      this.#some(this.#paths, ({ pattern, verbs }) => {
        if (coversPath(pattern, url)) paths.push(verbs);
        return false;
      });
      for (const verb of rule.verbs) {
        if (!this.#some(paths, (verbs) => has(verbs, verb))) yield { nonResourceURLs: [url], verbs: [verb] };
      }
    }
  }

  #about(resource: string): Owner[] {
    const slash = resource.indexOf('/');
    const keys = new Set([resource, all, ...(slash < 0 ? [] : [`*${resource.slice(slash)}`])]);
    return [...keys].flatMap((key) => this.#byResource.get(key) ?? []);
  }
}

function has(values: ReadonlySet<string>, requested: string): boolean {
  return values.has(all) || values.has(requested);
}

/** Whether the owner's pattern matches every path that `requested` matches. */
function coversPath(owned: string, requested: string): boolean {
  return owned === requested || (owned.endsWith(all) && requested.startsWith(owned.slice(0, -1)));
}

/** Merges rights that differ only in their verbs, as in the messages of 1.24. */
export function compactRules(atoms: readonly PolicyRule[]): PolicyRule[] {
  const merged = new Map<string, PolicyRule & { readonly verbs: string[] }>();
  for (const atom of atoms) {
    const key = JSON.stringify([atom.apiGroups, atom.resources, atom.resourceNames, atom.nonResourceURLs]);
    const rule = merged.get(key);
    if (rule === undefined) merged.set(key, { ...atom, verbs: [...atom.verbs] });
    else for (const verb of atom.verbs) rule.verbs.push(verb);
  }
  return [...merged.values()];
}
