/**
 * The rules of one role, indexed: a role can have tens of thousands of rules or names, and every request of its subjects is
 * compared with them. Pure.
 */

import type { PolicyRule } from '#api/rbac/v1/types.gen.js';
import { oncePer } from '#apimachinery/memo/once-per.js';
import { type MatchedAttributes, ruleAllows } from '#apiserver/authorization/rbac/rule-match.js';

/** A role with fewer strings needs no index. */
const small = 100;
/** Index entries allowed per string of a rule: a rule stands for the product of its lists. */
const maxEntriesPerText = 8;
const all = '*';

type Names = typeof all | Set<string>;

export class RuleSet {
  readonly rules: readonly PolicyRule[];
  /** Total length of all strings, and a little for each. */
  readonly weight: number;
  /** Rules that are not indexed. */
  readonly #single: PolicyRule[] = [];
  /** Names that a right is limited to, by verb, group and resource. */
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

  /** False for rules with too many entries, and for rules about paths, which are patterns. */
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
    const entry = this.#rights.get(key);
    if (entry === all) return;
    if (names.length === 0) this.#rights.set(key, all);
    else if (entry === undefined) this.#rights.set(key, new Set(names));
    else for (const name of names) entry.add(name);
  }
}

function listsOf({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): (readonly string[])[] {
  return [verbs, apiGroups ?? [], resources ?? [], resourceNames ?? [], nonResourceURLs ?? []];
}

/** The lengths make the key unambiguous. */
const rightKey = (verb: string, group: string, resource: string): string =>
  `${verb.length} ${group.length} ${verb}${group}${resource}`;

/** Cached by the array of rules, which is never modified. */
export const ruleSetOf = oncePer((rules: readonly PolicyRule[]) => new RuleSet(rules));
