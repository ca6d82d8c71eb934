/** Matches requests with a webhook's rules. Pure; the rules of 1.24 (`plugin/webhook/predicates/rules`). */
import type { RuleWithOperations } from '#api/admissionregistration/v1/types.gen.js';
import type { AdmissionAttributes, AdmissionOperation } from '#apiserver/admission/admission.js';

/** A resource by its names on the wire. */
export interface ResourceName {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

export interface RequestAttributes {
  readonly operation: AdmissionOperation;
  readonly subresource: string;
  /** True if the object is in a namespace; a namespace itself is not. */
  readonly namespaced: boolean;
}

export function matchesRule(rule: RuleWithOperations, of: ResourceName, request: RequestAttributes): boolean {
  return (
    matchesScope(rule.scope, request.namespaced) &&
    isAmong(rule.operations, request.operation) &&
    isAmong(rule.apiGroups, of.group) &&
    isAmong(rule.apiVersions, of.version) &&
    (rule.resources ?? []).some((text) => matchesResource(text, of.resource, request.subresource))
  );
}

/** True if a request for that resource or its subresources may match. */
export function concernsResource(rule: RuleWithOperations, { group, version, resource }: ResourceName): boolean {
  return (
    isAmong(rule.apiGroups, group) &&
    isAmong(rule.apiVersions, version) &&
    (rule.resources ?? []).some((text) => {
      const [pattern] = split(text);
      return pattern === '*' || pattern === resource;
    })
  );
}

function isAmong(values: readonly string[] | undefined, value: string): boolean {
  return (values ?? []).some((each) => each === '*' || each === value);
}

function matchesScope(scope: string | undefined, namespaced: boolean): boolean {
  if (scope === 'Namespaced') return namespaced;
  return scope !== 'Cluster' || !namespaced;
}

/** `pods`, `pods/status`, `pods/*`, `*`; a pattern without a slash excludes subresources. */
function matchesResource(text: string, resource: string, subresource: string): boolean {
  const [pattern, below] = split(text);
  return (pattern === '*' || pattern === resource) && (below === '*' || below === subresource);
}

function split(text: string): [resource: string, subresource: string] {
  const at = text.indexOf('/');
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

export const exemptResources = [
  { group: 'admissionregistration', resource: 'mutatingwebhookconfigurations' },
  { group: 'admissionregistration', resource: 'validatingwebhookconfigurations' },
] as const;

/** Webhooks are not called for webhook configurations: one that refused everything could never be repaired. */
export function isExempt({ resource }: Pick<AdmissionAttributes, 'resource'>): boolean {
  return exemptResources.some((exempt) => exempt.group === resource.group && exempt.resource === resource.resource);
}
