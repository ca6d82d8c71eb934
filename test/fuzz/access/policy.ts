/** Evaluates stored roles and bindings by the rules of release 1.24: simply, and anew for each state. */
import type { PolicyRule, Subject } from '#api/rbac/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Ask, ResourceAsk } from '#test/fuzz/access/addresses.js';
import { nodeMay, nodeName } from '#test/fuzz/access/nodes.js';
import type { State } from '#test/fuzz/access/state.js';

export interface Account {
  readonly name: string;
  readonly groups: readonly string[];
}

/** The relevant attributes of a resource request. */
export type ResourceAttributes = Omit<ResourceAsk, 'collection'>;

/** The policy of one state; a new state needs a new object. */
export class Policy {
  readonly #state: State;
  readonly #dialect: Dialect;
  readonly #rulesByAccount = new Map<string, readonly PolicyRule[]>();

  constructor(state: State, dialect: Dialect) {
    this.#state = state;
    this.#dialect = dialect;
  }

  may(account: Account, ask: Ask): boolean {
    if (this.#rules(account, 'path' in ask ? '' : ask.namespace).some((rule) => allows(rule, ask))) return true;
    const node = nodeName(account, this.#dialect);
    return node !== undefined && !('path' in ask) && nodeMay(this.#state, this.#dialect, node, ask);
  }

  /** All rules of roles that apply to the account in a namespace. */
  rules(account: Account, namespace: string): readonly PolicyRule[] {
    return this.#rules(account, namespace);
  }

  mayResource(
    account: Account,
    verb: string,
    group: string,
    resource: string,
    more: Partial<ResourceAttributes> = {},
  ): boolean {
    const attributes = { verb, group, resource, subresource: '', namespace: '', name: '', ...more };
    return this.may(account, { ...attributes, collection: false });
  }

  /** Whether the account has every right of the rules, for all objects of this small world and one outside of it. */
  holds(account: Account, rules: readonly PolicyRule[], namespace: string): boolean {
    const own = this.#rules(account, namespace);
    const other = 'something-else';
    for (const rule of rules) {
      const expand = (values: readonly string[] | undefined): string[] =>
        (values ?? []).map((value) => (value === '*' ? other : value.replace('*', other)));
      for (const verb of expand(rule.verbs)) {
        for (const url of rule.nonResourceURLs ?? []) {
          const path = url.endsWith('*') ? `${url.slice(0, -1)}${other}` : url;
          if (!own.some((mine) => allows(mine, { verb, path }))) return false;
        }
        for (const group of expand(rule.apiGroups)) {
          for (const whole of expand(rule.resources)) {
            const [resource = '', subresource = ''] = whole.split('/');
            const names =
              rule.resourceNames === undefined || rule.resourceNames.length === 0 ? [other] : rule.resourceNames;
            for (const name of names) {
              const attributes = { verb, group, resource, subresource, namespace, name, collection: false };
              if (!own.some((mine) => allows(mine, attributes))) return false;
            }
          }
        }
      }
    }
    return true;
  }

  /** The rules of a role referenced by a binding in `namespace` (empty for cluster role bindings). */
  rulesOf(roleRef: { kind: string; name: string }, namespace: string): readonly PolicyRule[] {
    const key = roleRef.kind === 'ClusterRole' ? `clusterroles/${roleRef.name}` : `roles/${namespace}/${roleRef.name}`;
    if (roleRef.kind !== 'ClusterRole' && (roleRef.kind !== 'Role' || namespace === '')) return [];
    return (this.#state.get(key)?.['rules'] as PolicyRule[] | undefined) ?? [];
  }

  #rules(account: Account, namespace: string): readonly PolicyRule[] {
    const key = JSON.stringify([account, namespace]);
    const rules = this.#rulesByAccount.get(key) ?? this.#find(account, namespace);
    this.#rulesByAccount.set(key, rules);
    return rules;
  }

  #find(account: Account, namespace: string): PolicyRule[] {
    const rules: PolicyRule[] = [];
    for (const [key, object] of this.#state) {
      const [resource, where = ''] = key.split('/');
      const everywhere = resource === 'clusterrolebindings';
      if (!everywhere && (resource !== 'rolebindings' || namespace === '' || where !== namespace)) continue;
      const subjects = (object['subjects'] as Subject[] | undefined) ?? [];
      if (!subjects.some((subject) => isSubject(account, subject, everywhere ? '' : namespace))) continue;
      rules.push(...this.rulesOf(object['roleRef'] as { kind: string; name: string }, everywhere ? '' : namespace));
    }
    return rules;
  }
}

function isSubject(account: Account, { kind, name, namespace }: Subject, bindingNamespace: string): boolean {
  if (kind === 'User') return account.name === name;
  if (kind === 'Group') return account.groups.includes(name);
  return kind === 'ServiceAccount' && account.name === `system:serviceaccount:${namespace || bindingNamespace}:${name}`;
}

function allows(rule: PolicyRule, ask: Ask): boolean {
  const has = (values: readonly string[] | undefined, value: string) =>
    values !== undefined && (values.includes('*') || values.includes(value));
  if (!has(rule.verbs, ask.verb)) return false;
  if ('path' in ask) {
    return (rule.nonResourceURLs ?? []).some(
      (url) => url === ask.path || (url.endsWith('*') && ask.path.startsWith(url.slice(0, -1))),
    );
  }
  const { group, resource, subresource, name } = ask;
  const whole = subresource === '' ? resource : `${resource}/${subresource}`;
  const ofResource = has(rule.resources, whole) || (subresource !== '' && has(rule.resources, `*/${subresource}`));
  const names = rule.resourceNames ?? [];
  return has(rule.apiGroups, group) && ofResource && (names.length === 0 || names.includes(name));
}
