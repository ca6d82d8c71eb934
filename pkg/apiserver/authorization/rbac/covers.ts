/** Whether somebody who has some rules already has all rights of others: nobody may hand out more than they have. */
import type { PolicyRule } from '#api/rbac/v1/types.gen.js';

const all = '*';

/**
 * Single rights that are looked at for one question. A rule is the product of its lists, and a role of a few megabytes
 * can speak of more rights than there is time for: what is beyond counts as not covered.
 */
const maxAtoms = 20_000;

/** Rules and names of the owner's that are looked at for one question; tens of milliseconds. */
const maxSteps = 1_000_000;

/** The parts of `wanted` that `owned` does not cover, each with one verb, group and resource; empty when all are covered. */
export function uncoveredRules(owned: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] {
  const owners = new Owners(owned);
  const found: PolicyRule[] = [];
  let left = maxAtoms;
  for (const rule of wanted) {
    if (owners.coverWhole(rule)) continue;
    left -= atomsOf(rule);
    if (left < 0 || owners.tired) found.push(rule);
    else {
      for (const atom of owners.uncoveredResources(rule)) found.push(atom);
      for (const atom of owners.uncoveredPaths(rule)) found.push(atom);
    }
  }
  return found;
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

/** The names that the owner has a right for; undefined: for all. */
type Right = { readonly names: ReadonlySet<string> | undefined };

/** Rules by the resources that they name. */
class Owners {
  readonly #byResource = new Map<string, Owner[]>();
  /** What the owner has of one verb, group and resource: roles ask for the same again and again. */
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
        const known = this.#byResource.get(resource);
        if (known === undefined) this.#byResource.set(resource, [owner]);
        else known.push(owner);
      }
      for (const pattern of rule.nonResourceURLs ?? []) this.#paths.push({ verbs: owner.verbs, pattern });
    }
  }

  /** True when there was more to look at than there is time for. */
  get tired(): boolean {
    return this.#steps > maxSteps;
  }

  /** True when one rule about all resources covers all of it, which is how those have rights who have many. */
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
    const wantedNames = rule.resourceNames ?? [];
    for (const resource of rule.resources ?? []) {
      for (const group of rule.apiGroups ?? []) {
        for (const verb of rule.verbs) {
          const { names } = this.#right(verb, group, resource);
          if (names === undefined) continue;
          const atom = { apiGroups: [group], resources: [resource], verbs: [verb] };
          if (wantedNames.length === 0) yield atom;
          for (const name of wantedNames) {
            if (!names.has(name)) yield { ...atom, resourceNames: [name] };
          }
        }
      }
    }
  }

  #right(verb: string, group: string, resource: string): Right {
    const key = JSON.stringify([verb, group, resource]);
    const known = this.#rights.get(key);
    if (known !== undefined) return known;
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

  /** `some` that gives up, and says no, when there is too much to look at. */
  #some<T>(values: readonly T[], holds: (value: T) => boolean): boolean {
    for (const value of values) {
      this.#steps += 1;
      if (this.tired) return false;
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

function has(values: ReadonlySet<string>, wanted: string): boolean {
  return values.has(all) || values.has(wanted);
}

/** A wanted pattern is covered when the owner's pattern covers all that it could match. */
function coversPath(owned: string, wanted: string): boolean {
  return owned === wanted || (owned.endsWith(all) && wanted.startsWith(owned.slice(0, -1)));
}

/** Rights that differ in their verbs alone as one rule, as 1.24 tells what is missing. */
export function compactRules(atoms: readonly PolicyRule[]): PolicyRule[] {
  const found = new Map<string, PolicyRule & { readonly verbs: string[] }>();
  for (const atom of atoms) {
    const key = JSON.stringify([atom.apiGroups, atom.resources, atom.resourceNames, atom.nonResourceURLs]);
    const known = found.get(key);
    if (known === undefined) found.set(key, { ...atom, verbs: [...atom.verbs] });
    else for (const verb of atom.verbs) known.verbs.push(verb);
  }
  return [...found.values()];
}
