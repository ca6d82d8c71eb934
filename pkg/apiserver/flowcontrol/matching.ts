/** Which flow schema a request belongs to, by the rules of 1.24. Pure. */
import type {
  FlowSchema,
  NonResourcePolicyRule,
  PolicyRulesWithSubjects,
  ResourcePolicyRule,
  Subject,
} from '#api/flowcontrol/v1beta2/types.gen.js';
import type { UserInfo } from '#apiserver/http/exchange.js';
import type { RequestInfo } from '#apiserver/http/request-info.js';

const all = '*';
const accountPrefix = 'system:serviceaccount:';

/** The part of a request that rules look at. */
export interface Digest {
  readonly info: Pick<
    RequestInfo,
    'resourceRequest' | 'verb' | 'group' | 'resource' | 'subresource' | 'namespace' | 'path'
  >;
  readonly user: UserInfo;
}

/** Whether one of the schema's rules matches. */
export function matchesSchema({ spec }: FlowSchema, { info, user }: Digest): boolean {
  for (const rule of spec.rules ?? []) if (matchesRule(rule, info, user)) return true;
  return false;
}

/** In the order in which they are tried: by precedence, then by name. */
export function inOrder(schemas: readonly FlowSchema[]): FlowSchema[] {
  const precedence = ({ spec }: FlowSchema) => spec.matchingPrecedence ?? 1000;
  const name = ({ metadata }: FlowSchema) => metadata.name ?? '';
  return [...schemas].sort((a, b) => precedence(a) - precedence(b) || (name(a) < name(b) ? -1 : 1));
}

function matchesRule(rule: PolicyRulesWithSubjects, info: Digest['info'], user: UserInfo): boolean {
  if (!rule.subjects.some((subject) => matchesSubject(subject, user))) return false;
  if (!info.resourceRequest) return rule.nonResourceRules?.some((each) => matchesPath(each, info)) === true;
  return rule.resourceRules?.some((each) => matchesResource(each, info)) === true;
}

function matchesSubject({ kind, user, group, serviceAccount }: Subject, who: UserInfo): boolean {
  switch (kind) {
    case 'User':
      return user !== undefined && (user.name === all || user.name === who.name);
    case 'Group':
      return group !== undefined && (group.name === all || who.groups.includes(group.name));
    case 'ServiceAccount': {
      if (serviceAccount === undefined || !who.name.startsWith(accountPrefix)) return false;
      const { namespace, name } = serviceAccount;
      const own = `${accountPrefix}${namespace}:`;
      return name === all ? who.name.startsWith(own) : who.name === `${own}${name}`;
    }
    default:
      return false;
  }
}

function matchesResource(rule: ResourcePolicyRule, info: Digest['info']): boolean {
  const { verb, resource, subresource, group, namespace } = info;
  if (!lists(rule.verbs, verb)) return false;
  if (!lists(rule.resources, subresource === '' ? resource : `${resource}/${subresource}`)) return false;
  if (!lists(rule.apiGroups, group)) return false;
  return namespace === '' ? rule.clusterScope === true : lists(rule.namespaces ?? [], namespace);
}

function matchesPath(rule: NonResourcePolicyRule, { verb, path }: Digest['info']): boolean {
  return lists(rule.verbs, verb) && rule.nonResourceURLs.some((pattern) => matchesURL(pattern, path));
}

function matchesURL(pattern: string, path: string): boolean {
  if (pattern === all || pattern === path) return true;
  const prefix = pattern.endsWith(all) ? pattern.slice(0, -1) : pattern;
  return path.startsWith(prefix.endsWith('/') ? prefix : `${prefix}/`);
}

/** `*` counts only on its own: validation allows nothing beside it. */
function lists(values: readonly string[], value: string): boolean {
  return values.includes(value) || (values.length === 1 && values[0] === all);
}
