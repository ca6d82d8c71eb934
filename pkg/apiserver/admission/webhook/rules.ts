/** Which requests a webhook's rules speak of. Pure; the rules of 1.24 (`plugin/webhook/predicates/rules`). */
import type { RuleWithOperations } from '#api/admissionregistration/v1/types.gen.js';
import type { AdmissionAttributes, AdmissionOperation } from '#apiserver/admission/admission.js';

/** A resource by its names on the wire. */
export interface ResourceName {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

export interface AskedAbout {
  readonly operation: AdmissionOperation;
  readonly subresource: string;
  /** Whether what is asked about lies in a namespace; a namespace itself does not. */
  readonly namespaced: boolean;
}

export function matchesRule(rule: RuleWithOperations, of: ResourceName, asked: AskedAbout): boolean {
  return (
    matchesScope(rule.scope, asked.namespaced) &&
    isAmong(rule.operations, asked.operation) &&
    isAmong(rule.apiGroups, of.group) &&
    isAmong(rule.apiVersions, of.version) &&
    (rule.resources ?? []).some((text) => matchesResource(text, of.resource, asked.subresource))
  );
}

/** Whether some request for that resource, or for something below it, may match. */
export function concernsResource(rule: RuleWithOperations, { group, version, resource }: ResourceName): boolean {
  return (
    isAmong(rule.apiGroups, group) &&
    isAmong(rule.apiVersions, version) &&
    (rule.resources ?? []).some((text) => {
      const [wanted] = split(text);
      return wanted === '*' || wanted === resource;
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

/** `pods`, `pods/status`, `pods/*`, `*`, `any resource’s `scale``; without a slash: not what is below the resource. */
function matchesResource(text: string, resource: string, subresource: string): boolean {
  const [wanted, below] = split(text);
  return (wanted === '*' || wanted === resource) && (below === '*' || below === subresource);
}

function split(text: string): [resource: string, subresource: string] {
  const at = text.indexOf('/');
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

export const exemptResources = [
  { group: 'admissionregistration', resource: 'mutatingwebhookconfigurations' },
  { group: 'admissionregistration', resource: 'validatingwebhookconfigurations' },
] as const;

/** No webhook is asked about webhook configurations: one that refuses everything could never be put right. */
export function isExempt({ resource }: Pick<AdmissionAttributes, 'resource'>): boolean {
  return exemptResources.some((exempt) => exempt.group === resource.group && exempt.resource === resource.resource);
}
