/** The rules of an audit policy: which requests are recorded, and how much of them (1.24: `audit/policy/checker.go`). Pure. */
import type { UserInfo } from '#apiserver/http/exchange.js';
import type { RequestInfo } from '#apiserver/http/request-info.js';

export const levels = ['None', 'Metadata', 'Request', 'RequestResponse'] as const;
export type Level = (typeof levels)[number];

export const stages = ['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic'] as const;
export type Stage = (typeof stages)[number];

export interface GroupResources {
  readonly group?: string;
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
}

export interface PolicyRule {
  readonly level: Level;
  readonly users?: readonly string[];
  readonly userGroups?: readonly string[];
  readonly verbs?: readonly string[];
  readonly resources?: readonly GroupResources[];
  readonly namespaces?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
  readonly omitStages?: readonly Stage[];
  readonly omitManagedFields?: boolean;
}

export interface Policy {
  readonly rules: readonly PolicyRule[];
  readonly omitStages?: readonly Stage[];
  readonly omitManagedFields?: boolean;
}

/** The policy for one request. */
export interface Recording {
  readonly level: Level;
  readonly omitStages: ReadonlySet<Stage>;
  readonly omitManagedFields: boolean;
}

export type AuditedInfo = Pick<
  RequestInfo,
  'resourceRequest' | 'verb' | 'path' | 'group' | 'resource' | 'subresource' | 'namespace' | 'name'
>;

export class PolicyRules {
  readonly #rules: readonly { readonly rule: PolicyRule; readonly recording: Recording }[];
  readonly #noMatch: Recording;

  constructor({ rules, omitStages = [], omitManagedFields = false }: Policy) {
    this.#rules = rules.map((rule) => ({
      rule,
      recording: {
        level: rule.level,
        omitStages: new Set([...omitStages, ...(rule.omitStages ?? [])]),
        omitManagedFields: rule.omitManagedFields ?? omitManagedFields,
      },
    }));
    this.#noMatch = { level: 'None', omitStages: new Set(omitStages), omitManagedFields };
  }

  /** The recording of the first rule that matches; without a match, nothing is recorded. */
  recordingOf(info: AuditedInfo, user: UserInfo | undefined): Recording {
    return this.#rules.find(({ rule }) => matchesRule(rule, info, user))?.recording ?? this.#noMatch;
  }
}

function matchesRule(rule: PolicyRule, info: AuditedInfo, user: UserInfo | undefined): boolean {
  const { users = [], userGroups = [], verbs = [], namespaces = [], resources = [], nonResourceURLs = [] } = rule;
  if (users.length > 0 && (user === undefined || !users.includes(user.name))) return false;
  if (userGroups.length > 0 && !(user?.groups.some((group) => userGroups.includes(group)) ?? false)) return false;
  if (verbs.length > 0 && !verbs.includes(info.verb)) return false;
  if (namespaces.length > 0 || resources.length > 0) {
    if (!info.resourceRequest || (namespaces.length > 0 && !namespaces.includes(info.namespace))) return false;
    return resources.length === 0 || resources.some((each) => hasResource(each, info));
  }
  if (nonResourceURLs.length > 0) {
    return !info.resourceRequest && nonResourceURLs.some((pattern) => matchesPath(pattern, info.path));
  }
  return true;
}

function hasResource(
  { group = '', resources = [], resourceNames = [] }: GroupResources,
  { group: requestGroup, resource, subresource, name }: AuditedInfo,
): boolean {
  if (group !== requestGroup) return false;
  if (resources.length === 0) return true;
  if (resourceNames.length > 0 && !resourceNames.includes(name)) return false;
  const whole = subresource === '' ? resource : `${resource}/${subresource}`;
  return resources.some(
    (each) =>
      each === '*' || each === whole || each === `${resource}/*` || (subresource !== '' && each === `*/${subresource}`),
  );
}

function matchesPath(pattern: string, path: string): boolean {
  if (pattern === '*' || pattern === path) return true;
  return pattern.endsWith('*') && path.startsWith(pattern.replace(/\*+$/, ''));
}
