/**
 * The rules of one role, prepared for being asked again and again: whoever may write a role in some namespace can give it
 * tens of thousands of rules or names, and everybody's requests there are held against them. Pure.
 */

import type { PolicyRule } from '#api/rbac/v1/types.gen.js';
import { oncePer } from '#apimachinery/memo/once-per.js';
import { type MatchedAttributes, ruleAllows } from '#apiserver/authorization/rbac/rule-match.js';

/** Rules of so few texts are looked at one by one: there is nothing to gain. */
const small = 100;
/** Entries that a rule may have for each of its texts: it stands for the product of its lists. */
const maxEntriesPerText = 8;
const all = '*';

/** The names that a right is for. */
type Names = typeof all | Set<string>;

export class RuleSet {
  readonly rules: readonly PolicyRule[];
  /** Length of all texts together, and a little for each. */
  readonly weight: number;
  /** Rules that are looked at one by one. */
  readonly #single: PolicyRule[] = [];
  /** By verb, group and resource. */
  readonly #rights = new Map<string, Names>();

  constructor(rules: readonly PolicyRule[]) {
    this.rules = rules;
    let weight = 0;
    let texts = 0;
    for (const rule of rules) {
      for (const list of listsOf(rule)) {
        texts += list.length;
        for (const text of list) weight += text.length + 4;
      }
      weight += 16;
    }
    this.weight = weight;
    const few = texts <= small;
    for (const rule of rules) {
      if (few || !this.#index(rule)) this.#single.push(rule);
    }
  }

  allows(attributes: MatchedAttributes): boolean {
    if (this.#rights.size > 0 && attributes.resourceRequest && this.#indexed(attributes)) return true;
    return this.#single.some((rule) => ruleAllows(rule, attributes));
  }

  #indexed({ verb, group, resource, subresource, name }: MatchedAttributes): boolean {
    const resources = subresource === '' ? [resource, all] : [`${resource}/${subresource}`, all, `*/${subresource}`];
    for (const eachResource of resources) {
      for (const eachVerb of [verb, all]) {
        for (const eachGroup of [group, all]) {
          const names = this.#rights.get(rightKey(eachVerb, eachGroup, eachResource));
          if (names !== undefined && (names === all || names.has(name))) return true;
        }
      }
    }
    return false;
  }

  /** False for what would have too many entries, and for rules about paths, whose patterns have to be tried. */
  #index({ verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] }: PolicyRule): boolean {
    if (nonResourceURLs.length > 0) return false;
    const entries = verbs.length * apiGroups.length * resources.length * Math.max(1, resourceNames.length);
    const texts = verbs.length + apiGroups.length + resources.length + resourceNames.length;
    if (entries > maxEntriesPerText * texts) return false;
    for (const verb of verbs) {
      for (const group of apiGroups) {
        for (const resource of resources) this.#add(rightKey(verb, group, resource), resourceNames);
      }
    }
    return true;
  }

  #add(key: string, names: readonly string[]): void {
    const known = this.#rights.get(key);
    if (known === all) return;
    if (names.length === 0) this.#rights.set(key, all);
    else if (known === undefined) this.#rights.set(key, new Set(names));
    else for (const name of names) known.add(name);
  }
}

function listsOf({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): (readonly string[])[] {
  return [verbs, apiGroups ?? [], resources ?? [], resourceNames ?? [], nonResourceURLs ?? []];
}

/** The lengths keep two keys apart whose parts would read alike. */
const rightKey = (verb: string, group: string, resource: string): string =>
  `${verb.length} ${group.length} ${verb}${group}${resource}`;

/** The set of a role's rules, which are never changed in place. */
export const ruleSetOf = oncePer((rules: readonly PolicyRule[]) => new RuleSet(rules));
