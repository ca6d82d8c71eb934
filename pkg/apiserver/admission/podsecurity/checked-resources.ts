/** The resources whose objects contain a pod or a template of one, and where it is. */
import type { PodSpec, PodTemplateSpec } from '#api/core/v1/types.gen.js';
import type { ApiObjectShape } from '#api/meta/object.js';
import type { GroupResource } from '#apiserver/resources/write-hook.js';

/** The part of an object that is checked. */
export interface PodParts {
  readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: PodSpec;
}

/** Workloads: pods are created from their templates. */
const workloads: readonly GroupResource[] = [
  { group: 'core', resource: 'replicationcontrollers' },
  { group: 'core', resource: 'podtemplates' },
  { group: 'apps', resource: 'replicasets' },
  { group: 'apps', resource: 'deployments' },
  { group: 'apps', resource: 'statefulsets' },
  { group: 'apps', resource: 'daemonsets' },
  { group: 'batch', resource: 'jobs' },
  { group: 'batch', resource: 'cronjobs' },
];

export const checkedResources: readonly GroupResource[] = [
  { group: 'core', resource: 'pods' },
  { group: 'core', resource: 'namespaces' },
  ...workloads,
];

/**
 * Subresources of pods that cannot change a pod's spec. Like 1.24, another one is checked, so that a new subresource is
 * not a way around the check.
 */
export const uncheckedSubresources: ReadonlySet<string> = new Set([
  'exec',
  'attach',
  'binding',
  'eviction',
  'log',
  'portforward',
  'proxy',
  'status',
]);

interface WorkloadShape {
  readonly template?: PodTemplateSpec;
  readonly spec?: {
    readonly template?: PodTemplateSpec;
    readonly jobTemplate?: { readonly spec?: { readonly template?: PodTemplateSpec } };
  };
}

/** The template of a workload; undefined if it has none (a ReplicationController may lack it). */
export function templateOf(workload: ApiObjectShape): PodParts | undefined {
  const { template, spec } = workload as WorkloadShape;
  const parts = template ?? spec?.template ?? spec?.jobTemplate?.spec?.template;
  return parts?.spec === undefined ? undefined : { ...parts, spec: parts.spec };
}
