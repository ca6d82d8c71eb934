/** Creates the pods of a job. */
import type { Job } from '#api/batch/v1/types.gen.js';
import type { Container, Pod } from '#api/core/v1/types.gen.js';
import type { OwnerReference } from '#api/meta/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { podFromTemplate } from '#controllers/replicaset/pod-template.js';

/** The environment variable with the pod's index. */
const indexVariable = 'JOB_COMPLETION_INDEX';

/** The maximum length of a name prefix to which the API server appends a random suffix. */
const maxPrefixLength = 58;

export interface JobPod {
  /** Undefined for a job without indexes. */
  readonly index: number | undefined;
  /** Whether the pod gets the finalizer. */
  readonly tracked: boolean;
  readonly reference: OwnerReference;
}

/** The API server completes the pod's name. */
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
  const withIndex = (container: Container) => withIndexVariable(dialect, container);
  const { initContainers, containers } = pod.spec;
  pod.spec = {
    ...pod.spec,
    hostname: `${name}-${index}`,
    containers: containers.map(withIndex),
    ...(initContainers === undefined ? {} : { initContainers: initContainers.map(withIndex) }),
  };
  return pod;
}

/** `NAME-INDEX-`, with a long name truncated. */
function indexedPrefix(name: string, index: number): string {
  const suffix = `-${index}-`;
  return `${name.slice(0, maxPrefixLength - suffix.length)}${suffix}`;
}

/** Does not replace a variable of the template. */
function withIndexVariable(dialect: Dialect, container: Container): Container {
  if (container.env?.some(({ name }) => name === indexVariable)) return container;
  const fieldPath = `metadata.annotations['${dialect.annotations.jobCompletionIndex}']`;
  return {
    ...container,
    env: [...(container.env ?? []), { name: indexVariable, valueFrom: { fieldRef: { fieldPath } } }],
  };
}
