/** What a check of the Pod Security Standards sees and answers, and the parts of its texts. */
import type { Container, EphemeralContainer, PodSpec } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';

/** A pod, or the pod in a workload's template. */
export interface CheckedPod {
  readonly spec: PodSpec;
  readonly annotations: Readonly<Record<string, string>>;
  /** Of the names of annotations. */
  readonly dialect: Dialect;
  /** All containers: those of initialization first, ephemeral ones last. */
  readonly containers: readonly CheckedContainer[];
}

export type CheckedContainer = Pick<Container | EphemeralContainer, 'name' | 'ports' | 'securityContext'>;

export interface Violation {
  /** Short: `hostPort`. */
  readonly reason: string;
  /** The containers and values: `container "web" uses hostPort 80`. Empty: the reason says all. */
  readonly detail: string;
}

/** Undefined if the pod keeps the rule. */
export type Check = (pod: CheckedPod) => Violation | undefined;

export function checkedPod(
  metadata: { readonly annotations?: Readonly<Record<string, string>> } | undefined,
  spec: PodSpec,
  dialect: Dialect,
): CheckedPod {
  const { initContainers = [], containers = [], ephemeralContainers = [] } = spec;
  const all =
    initContainers.length + ephemeralContainers.length === 0
      ? containers
      : [...initContainers, ...containers, ...ephemeralContainers];
  return { spec, annotations: metadata?.annotations ?? {}, dialect, containers: all };
}

/** The names of the containers for which the predicate holds. */
export function namesOf(
  { containers }: CheckedPod,
  isOne: (context: NonNullable<CheckedContainer['securityContext']>, container: CheckedContainer) => boolean,
): string[] {
  return containers
    .filter((container) => isOne(container.securityContext ?? noContext, container))
    .map(({ name }) => name);
}

const noContext: NonNullable<CheckedContainer['securityContext']> = {};

/** `"a", "b"`. Like 1.24, escapes nothing. */
export function joined(texts: readonly string[]): string {
  return texts.map((text) => `"${text}"`).join(', ');
}

export function numbered(singular: string, plural: string, count: number): string {
  return count === 1 ? singular : plural;
}

/** `container "a"`, `containers "a", "b"`. */
export function containersNamed(names: readonly string[]): string {
  return `${numbered('container', 'containers', names.length)} ${joined(names)}`;
}

/** The settings of a pod itself and of its containers: `pod and container "a"`. Empty without any. */
export function settersNamed(pod: boolean, names: readonly string[]): string {
  return [...(pod ? ['pod'] : []), ...(names.length > 0 ? [containersNamed(names)] : [])].join(' and ');
}

/** The texts without duplicates, in the order of their bytes. */
export function sortedUnique(texts: Iterable<string>): string[] {
  return [...new Set(texts)].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}
