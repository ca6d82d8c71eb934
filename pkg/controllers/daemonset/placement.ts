/** Decides which nodes run a daemon's pods. Rules of release 1.24 (nodeShouldRunDaemonPod). Pure. */
import type { DaemonSet } from '#api/apps/v1/types.gen.js';
import { matchesRequiredNodeAffinity } from '#api/core/v1/affinity/node-selector.js';
import { findUntoleratedTaint } from '#api/core/v1/node/taints.js';
import type { Node, Pod, PodSpec, PodTemplateSpec, Toleration } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';

const nameField = 'metadata.name';

export interface Placement {
  /** Whether to create a pod. */
  readonly shouldRun: boolean;
  /** Whether an existing pod may stay. */
  readonly shouldContinue: boolean;
}

/** Adds the tolerations that keep daemon pods on unhealthy nodes. */
export function daemonTemplate(dialect: Dialect, set: DaemonSet): PodTemplateSpec {
  const { template } = set.spec;
  const spec = template.spec ?? { containers: [] };
  return { ...template, spec: { ...spec, tolerations: withDaemonTolerations(dialect, spec) } };
}

function withDaemonTolerations({ taints }: Dialect, spec: PodSpec): Toleration[] {
  const added: Toleration[] = [
    { key: taints.notReady, operator: 'Exists', effect: 'NoExecute' },
    { key: taints.unreachable, operator: 'Exists', effect: 'NoExecute' },
    ...[taints.diskPressure, taints.memoryPressure, taints.pidPressure, taints.unschedulable].map(noSchedule),
    ...(spec.hostNetwork === true ? [noSchedule(taints.networkUnavailable)] : []),
  ];
  const tolerations = [...(spec.tolerations ?? [])];
  for (const toleration of added) {
    const same = tolerations.findIndex((each) => isSameToleration(each, toleration));
    if (same >= 0) tolerations[same] = toleration;
    else tolerations.push(toleration);
  }
  return tolerations;
}

const noSchedule = (key: string): Toleration => ({ key, operator: 'Exists', effect: 'NoSchedule' });

/** Ignores `tolerationSeconds`. */
function isSameToleration(a: Toleration, b: Toleration): boolean {
  return a.key === b.key && a.effect === b.effect && a.operator === b.operator && (a.value ?? '') === (b.value ?? '');
}

/** `template` is the result of `daemonTemplate`. */
export function placementOn(template: PodTemplateSpec, node: Node): Placement {
  const spec = template.spec ?? { containers: [] };
  const nodeName = spec.nodeName ?? '';
  const nowhere = { shouldRun: false, shouldContinue: false };
  if (nodeName !== '' && nodeName !== node.metadata.name) return nowhere;
  if (!matchesRequiredNodeAffinity(spec, node)) return nowhere;
  const { taints } = node.spec;
  if (findUntoleratedTaint(taints, spec.tolerations, ['NoSchedule', 'NoExecute']) === undefined) {
    return { shouldRun: true, shouldContinue: true };
  }
  return {
    shouldRun: false,
    shouldContinue: findUntoleratedTaint(taints, spec.tolerations, ['NoExecute']) === undefined,
  };
}

/** Adds the node affinity that makes the scheduler choose the node. */
export function templateForNode(template: PodTemplateSpec, nodeName: string): PodTemplateSpec {
  const spec = template.spec ?? { containers: [] };
  const nodeSelectorTerms = [{ matchFields: [{ key: nameField, operator: 'In', values: [nodeName] }] }];
  const nodeAffinity = {
    ...spec.affinity?.nodeAffinity,
    // `placementOn` has checked the original requirements.
    requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms },
  };
  return { ...template, spec: { ...spec, affinity: { ...spec.affinity, nodeAffinity } } };
}

/** The pod's node, or the node in its affinity; undefined when it has neither. */
export function targetNode(pod: Pod): string | undefined {
  if ((pod.spec.nodeName ?? '') !== '') return pod.spec.nodeName;
  const required = pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  for (const { matchFields = [] } of required?.nodeSelectorTerms ?? []) {
    for (const { key, operator, values = [] } of matchFields) {
      if (key === nameField && operator === 'In' && values.length === 1) return values[0];
    }
  }
  return undefined;
}
