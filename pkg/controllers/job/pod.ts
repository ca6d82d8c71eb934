/** The pods of a job. */
import type { Job } from '#api/batch/v1/types.gen.js';
import type { Container, Pod } from '#api/core/v1/types.gen.js';
import type { OwnerReference } from '#api/meta/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { podFromTemplate } from '#controllers/replicaset/pod-template.js';

/** What tells a container its pod's index. */
const indexVariable = 'JOB_COMPLETION_INDEX';

/** Longest prefix of a name to which the API server adds its random suffix. */
const maxPrefixLength = 58;

export interface JobPod {
  /** Absent for a job without indexes. */
  readonly index: number | undefined;
  /** The pod carries the finalizer. */
  readonly tracked: boolean;
  readonly reference: OwnerReference;
}

/** The pod to create; the API server completes its name. */
export function jobPod(dialect: Dialect, job: Job, { index, tracked, reference }: JobPod): Pod {
  const { name = '', namespace = '' } = job.metadata;
  const pod = podFromTemplate(job.spec.template, { name, namespace }, reference);
  const { metadata } = pod;
  if (tracked) {
    const others = (metadata.finalizers ?? []).filter((finalizer) => finalizer !== dialect.jobTracking);
    metadata.finalizers = [...others, dialect.jobTracking];
  }
  if (index === undefined) return pod;
  metadata.generateName = indexedPrefix(name, index);
  metadata.annotations = { ...metadata.annotations, [dialect.annotations.jobCompletionIndex]: `${index}` };
  const told = (container: Container) => withIndexVariable(dialect, container);
  const { initContainers, containers } = pod.spec;
  pod.spec = {
    ...pod.spec,
    hostname: `${name}-${index}`,
    containers: containers.map(told),
    ...(initContainers === undefined ? {} : { initContainers: initContainers.map(told) }),
  };
  return pod;
}

/** `NAME-INDEX-`; a long name gives way to the index. */
function indexedPrefix(name: string, index: number): string {
  const suffix = `-${index}-`;
  return `${name.slice(0, maxPrefixLength - suffix.length)}${suffix}`;
}

/** A variable of that name which the template has stays as it is. */
function withIndexVariable(dialect: Dialect, container: Container): Container {
  if (container.env?.some(({ name }) => name === indexVariable)) return container;
  const fieldPath = `metadata.annotations['${dialect.annotations.jobCompletionIndex}']`;
  return {
    ...container,
    env: [...(container.env ?? []), { name: indexVariable, valueFrom: { fieldRef: { fieldPath } } }],
  };
}
