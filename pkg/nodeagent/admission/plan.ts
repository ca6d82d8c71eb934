/**
 * Decides which bound pods a node rejects: pods that bypassed the scheduler, or that were bound before the node
 * changed. Pure. Order, reasons and messages of release 1.24 (kubelet lifecycle/predicate.go).
 */
import { matchesRequiredNodeAffinity } from '#api/core/v1/affinity/node-selector.js';
import { findUntoleratedTaint } from '#api/core/v1/node/taints.js';
import { podPriority } from '#api/core/v1/pod/conditions.js';
import type { Node, Pod } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { hasPortConflict, type Shortage, shortages } from '#nodeagent/admission/fit.js';
import { forbiddenSysctl } from '#nodeagent/admission/sysctls.js';

/** Becomes reason and message of the pod's status, whose phase is Failed. */
export interface Refusal {
  readonly reason: string;
  readonly message: string;
}

export interface AdmissionInput {
  readonly dialect: Dialect;
  readonly pod: Pod;
  readonly node: Node;
  /** The node's other pods that have not ended. */
  readonly others: readonly Pod[];
  /** Names and prefixes (`net.*`). */
  readonly allowedUnsafeSysctls: readonly string[];
  /** The pod is a static pod. */
  readonly isStatic?: boolean;
}

/** True for pods that may preempt others. */
export function isCriticalPod({ pod, isStatic }: Pick<AdmissionInput, 'pod' | 'isStatic'>): boolean {
  return isStatic === true || podPriority(pod) >= systemCriticalPriority;
}

const systemCriticalPriority = 2_000_000_000;
const ourOS = 'linux';

/** Undefined if the pod sets no forbidden sysctl. */
export function forbiddenSysctls(pod: Pod, allowedUnsafeSysctls: readonly string[]): Refusal | undefined {
  const message = forbiddenSysctl(pod, allowedUnsafeSysctls);
  return message === undefined ? undefined : { reason: 'SysctlForbidden', message };
}

/** Undefined: the pod may run. */
export function refusal(input: AdmissionInput): Refusal | undefined {
  const { dialect, pod, allowedUnsafeSysctls } = input;
  const forbidden = forbiddenSysctls(pod, allowedUnsafeSysctls);
  if (forbidden !== undefined) return forbidden;
  const { labels } = dialect;
  const requiredOS = pod.metadata.labels?.[labels.os];
  if (requiredOS !== undefined && requiredOS !== ourOS) {
    const message = `Failed to admit pod as the \`${labels.os}\` label doesn't match node label`;
    return { reason: 'PodOSSelectorNodeLabelDoesNotMatch', message };
  }
  if (pod.spec.os !== undefined && pod.spec.os.name !== ourOS) {
    return { reason: 'PodOSNotSupported', message: "Failed to admit pod as the OS field doesn't match node OS" };
  }
  const [short] = lacking(input);
  const failed = failedPredicate(input);
  // A critical pod preempts others for missing resources, so report its other failures first.
  if (short !== undefined && !(isCriticalPod(input) && failed !== undefined)) {
    const { resource, requested, used, capacity } = short;
    const amounts = `requested: ${requested}, used: ${used}, capacity: ${capacity}`;
    return { reason: `OutOf${resource}`, message: `Node didn't have enough resource: ${resource}, ${amounts}` };
  }
  return failed === undefined ? undefined : { reason: failed, message: `Predicate ${failed} failed` };
}

/** The pod's requests that the node cannot satisfy. */
export function lacking({ pod, others, node, dialect }: Omit<AdmissionInput, 'allowedUnsafeSysctls'>): Shortage[] {
  return shortages(pod, others, node.status?.allocatable ?? {}, dialect);
}

function failedPredicate({ pod, node, others, isStatic }: AdmissionInput): string | undefined {
  if (!matchesRequiredNodeAffinity(pod.spec, node)) return 'NodeAffinity';
  const { nodeName = '' } = pod.spec;
  if (nodeName !== '' && nodeName !== node.metadata.name) return 'NodeName';
  if (hasPortConflict(pod, others)) return 'NodePorts';
  // Static pods ignore taints.
  if (isStatic === true) return undefined;
  const taint = findUntoleratedTaint(node.spec.taints, pod.spec.tolerations, ['NoExecute']);
  return taint === undefined ? undefined : 'TaintToleration';
}
