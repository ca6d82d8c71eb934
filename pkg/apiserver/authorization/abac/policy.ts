/** Attribute-based access control: policies, each of which allows requests of a user or a group. Pure. */
import type { PolicyRule } from '#api/rbac/v1/types.gen.js';
import type {
  AuthorizationAttributes,
  AuthorizationDecision,
  Authorizer,
} from '#apiserver/authorization/authorizer.js';
import type { ResolvedRules, RuleResolver } from '#apiserver/authorization/rule-resolver.js';
import type { UserInfo } from '#apiserver/http/exchange.js';

/** Empty texts match only empty values, except for user and group, of which at least one must match. */
export interface AbacPolicy {
  /** A name, or `*` for every user. */
  readonly user: string;
  /** A name, or `*` for every group. */
  readonly group: string;
  /** The policy is for get, list and watch only. */
  readonly readonly: boolean;
  readonly apiGroup: string;
  readonly resource: string;
  readonly namespace: string;
  /** A path; `*` at its end for all paths that begin so. */
  readonly nonResourcePath: string;
}

const all = '*';
const readVerbs = ['get', 'list', 'watch'];
const allowed: AuthorizationDecision = { decision: 'allow', reason: '' };
const unmatched: AuthorizationDecision = { decision: 'noOpinion', reason: 'No policy matched.' };

export class AbacAuthorizer implements Authorizer, RuleResolver {
  readonly mode = 'ABAC';
  readonly #policies: readonly AbacPolicy[];

  constructor(policies: readonly AbacPolicy[]) {
    this.#policies = policies;
  }

  authorize(attributes: AuthorizationAttributes): AuthorizationDecision {
    return this.#policies.some((policy) => allows(policy, attributes)) ? allowed : unmatched;
  }

  rulesFor(user: UserInfo, namespace: string): ResolvedRules {
    const rules = this.#policies.flatMap((policy) =>
      isFor(policy, user) && matches(policy.namespace, namespace) ? rulesOf(policy) : [],
    );
    return { rules, errors: [], incomplete: false };
  }
}

function allows(policy: AbacPolicy, attributes: AuthorizationAttributes): boolean {
  if (!isFor(policy, attributes.user)) return false;
  if (policy.readonly && !readVerbs.includes(attributes.verb)) return false;
  if (!attributes.resourceRequest) return pathMatches(policy.nonResourcePath, attributes.path);
  return (
    matches(policy.namespace, attributes.namespace) &&
    matches(policy.resource, attributes.resource) &&
    matches(policy.apiGroup, attributes.group)
  );
}

const matches = (pattern: string, value: string): boolean => pattern === all || pattern === value;

function isFor({ user, group }: AbacPolicy, { name, groups }: UserInfo): boolean {
  if (user === '' && group === '') return false;
  return (user === '' || matches(user, name)) && (group === '' || group === all || groups.includes(group));
}

function pathMatches(pattern: string, path: string): boolean {
  if (matches(pattern, path)) return true;
  return pattern.endsWith(all) && path.startsWith(pattern.replace(/\*+$/, ''));
}

/** The rules that a review shows, as 1.24 lists them. */
function rulesOf({ readonly, apiGroup, resource, nonResourcePath }: AbacPolicy): PolicyRule[] {
  const verbs = readonly ? readVerbs : [all];
  return [
    ...(resource === '' ? [] : [{ verbs, apiGroups: [apiGroup], resources: [resource] }]),
    ...(nonResourcePath === '' ? [] : [{ verbs, nonResourceURLs: [nonResourcePath] }]),
  ];
}
