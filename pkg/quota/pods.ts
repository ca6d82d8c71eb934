/** Evaluates what pods use of quotas. */
import { podLimits, podQosClass, podRequests, type ResourceList } from '#api/core/v1/pod/resources.js';
import { isExtendedResource, isHugePages, isNativeResource } from '#api/core/v1/resources/names.js';
import type { Container, Pod, PodAffinityTerm, ScopedResourceSelectorRequirement } from '#api/core/v1/types.gen.js';
import { parseTime } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { QuotaEvaluator } from '#quota/evaluator.js';

/** Counts all pods, including finished ones. */
const objectCount = 'count/pods';

/** Resources whose requests are also counted under the plain name. */
const computeResources = ['cpu', 'memory', 'ephemeral-storage'] as const;

const countedNames = new Set([
  objectCount,
  'pods',
  ...computeResources.flatMap((name) => [name, `requests.${name}`, `limits.${name}`]),
]);

/** If a quota limits one of these, every container must set it. Other resources are optional, as in 1.24. */
const requiredNames = ['cpu', 'limits.cpu', 'limits.memory', 'memory', 'requests.cpu', 'requests.memory'];

export function podEvaluator(dialect: Dialect): QuotaEvaluator {
  return {
    scoped: true,
    counts: (name) => countedNames.has(name) || hasCountedPrefix(name, dialect),
    usage: (object, nowMs) => podUsage(object as Pod, nowMs, dialect),
    isWithin: (object, scope) => isPodWithin(object as Pod, scope),
    missing: (object, names) => missingOf(object as Pod, names, dialect),
    // The other counted fields are immutable.
    mayUseMore: (object, old) => isTerminating(object as Pod) !== isTerminating(old as Pod),
  };
}

/** False for finished pods and for pods past their grace period, so that a lost node does not hold quota. */
function isPodCharged({ metadata, status }: Pod, nowMs: number): boolean {
  if (status?.phase === 'Failed' || status?.phase === 'Succeeded') return false;
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds === undefined) return true;
  return nowMs <= parseTime(deletionTimestamp) + Number(deletionGracePeriodSeconds) * 1000;
}

function hasCountedPrefix(name: string, dialect: Dialect): boolean {
  if (isHugePages(name) || name.startsWith('requests.hugepages-')) return true;
  return name.startsWith('requests.') && !isNativeResource(name, dialect);
}

function podUsage(pod: Pod, nowMs: number, dialect: Dialect): ResourceList {
  if (!isPodCharged(pod, nowMs)) return { [objectCount]: '1' };
  return { [objectCount]: '1', ...computeUsage(podRequests(pod), podLimits(pod), dialect) };
}

function computeUsage(requests: ResourceList, limits: ResourceList, dialect: Dialect): ResourceList {
  const usage: ResourceList = { pods: '1' };
  for (const name of computeResources) {
    const [request, limit] = [requests[name], limits[name]];
    if (request !== undefined) usage[name] = usage[`requests.${name}`] = request;
    if (limit !== undefined) usage[`limits.${name}`] = limit;
  }
  for (const [name, request] of Object.entries(requests)) {
    if (isHugePages(name)) usage[name] = usage[`requests.${name}`] = request;
    else if (isExtendedResource(name, dialect)) usage[`requests.${name}`] = request;
  }
  return usage;
}

function missingOf({ spec }: Pod, names: readonly string[], dialect: Dialect): string | undefined {
  const required = requiredNames.filter((name) => names.includes(name));
  const containers = [...(spec.containers ?? []), ...(spec.initContainers ?? [])];
  const missing = required.flatMap((name) => {
    const lacking = containers.filter((container) => !(name in usageOfContainer(container, dialect)));
    const names = [...new Set(lacking.map((container) => container.name))].sort();
    return names.length === 0 ? [] : [`${name} for: ${names.join(',')}`];
  });
  return missing.length === 0 ? undefined : `must specify ${missing.join('; ')}`;
}

function usageOfContainer({ resources }: Container, dialect: Dialect): ResourceList {
  return computeUsage(resources?.requests ?? {}, resources?.limits ?? {}, dialect);
}

function isPodWithin(pod: Pod, { scopeName, operator, values = [] }: ScopedResourceSelectorRequirement): boolean {
  switch (scopeName) {
    case 'Terminating':
      return isTerminating(pod);
    case 'NotTerminating':
      return !isTerminating(pod);
    case 'BestEffort':
      return podQosClass(pod) === 'BestEffort';
    case 'NotBestEffort':
      return podQosClass(pod) !== 'BestEffort';
    case 'PriorityClass':
      return selects(operator, values, pod.spec.priorityClassName ?? '');
    case 'CrossNamespacePodAffinity':
      return affinityTerms(pod).some(({ namespaces = [], namespaceSelector }) => {
        return namespaces.length > 0 || namespaceSelector !== undefined;
      });
    default:
      return false;
  }
}

/** Applies label selector operators to the pod's priority class; an empty name counts as an absent label. */
function selects(operator: string | undefined, values: readonly string[], name: string): boolean {
  if (operator === 'Exists') return name !== '';
  if (operator === 'DoesNotExist') return name === '';
  if (operator === 'In') return name !== '' && values.includes(name);
  return operator === 'NotIn' && !values.includes(name);
}

function isTerminating({ spec }: Pod): boolean {
  return (spec.activeDeadlineSeconds ?? -1) >= 0;
}

function affinityTerms({ spec }: Pod): PodAffinityTerm[] {
  const { podAffinity, podAntiAffinity } = spec.affinity ?? {};
  return [podAffinity, podAntiAffinity].flatMap((affinity) => [
    ...(affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map((weighted) => weighted.podAffinityTerm),
  ]);
}
