/** Why a pod has failed. */
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Finding, Remedy, Subject } from '#insight/inquiry/finding.js';
import type { Inquiry } from '#insight/inquiry/inquiry.js';
import { containerFindings } from '#insight/questions/containers.js';
import { nodeCauses } from '#insight/questions/node.js';
import { finding, namespaceFlag, statusEvidence } from '#insight/questions/parts.js';

/** Reasons that the node agent gives a whole pod, with what they mean. */
const meanings: Readonly<
  Record<string, { readonly reason: string; readonly summary: string; readonly action: string }>
> = {
  Evicted: {
    reason: 'Evicted',
    summary:
      'The node evicted the pod because it ran short of a resource, or because the pod exceeded its own storage limit.',
    action: 'Raise the requests of the pod to what it uses, or give the node more of the resource.',
  },
  DeadlineExceeded: {
    reason: 'DeadlineExceeded',
    summary: 'The pod ran for longer than its activeDeadlineSeconds.',
    action: 'Raise activeDeadlineSeconds, or find out why the pod takes so long.',
  },
  NodeShutdown: {
    reason: 'NodeShutdown',
    summary: 'The node was shutting down.',
    action: 'Delete the pod; its controller creates it again on another node.',
  },
  Terminated: {
    reason: 'NodeShutdown',
    summary: 'The node was shutting down and ended its pods.',
    action: 'Delete the pod; its controller creates it again on another node.',
  },
  Preempting: {
    reason: 'Preempted',
    summary: 'The node ended the pod to make room for a critical one.',
    action: 'Give the node more room, or the pod a higher priority.',
  },
  NodeLost: {
    reason: 'NodeLost',
    summary: 'The node no longer answers.',
    action: 'Repair the node or delete it from the cluster.',
  },
  AppArmor: {
    reason: 'AppArmorProfileMissing',
    summary: 'The node cannot enforce the AppArmor profile of the pod.',
    action: 'Load the profile on the node, or place the pod on nodes that have it.',
  },
};

/** Refusals by the node although the scheduler chose it. */
const refusals =
  /^(?:OutOf|Unexpected|NodeAffinity|TopologyAffinity|SMTAlignment|PodToleration|Taint|NodePorts|SysctlForbidden|PodOSNotSupported|PodOSSelector)/;

export async function failureFindings(inquiry: Inquiry, pod: Pod, subject: Subject): Promise<readonly Finding[]> {
  const { reason = '', message } = pod.status ?? {};
  const evidence = [statusEvidence('status.message', message), statusEvidence('status.reason', reason)];
  const meaning = meanings[reason];
  if (meaning !== undefined) {
    const isNodeAsked = reason === 'Evicted' || reason === 'NodeLost';
    return [
      finding({
        ...{ subject, evidence },
        reason: meaning.reason,
        summary: meaning.summary,
        remedies: [{ action: meaning.action }],
        causes: isNodeAsked ? await nodeCauses(inquiry, pod) : [],
      }),
    ];
  }
  if (refusals.test(reason)) {
    return [
      finding({
        ...{ subject, evidence },
        reason: 'RefusedByNode',
        summary: `Node ${pod.spec.nodeName ?? ''} refused the pod after it was assigned to it.`,
        remedies: [recreate(subject)],
      }),
    ];
  }
  const ended = await containerFindings(inquiry, pod, subject);
  if (ended.length > 0) return ended;
  return [
    finding({
      ...{ subject, evidence },
      reason: 'PodFailed',
      summary: 'The pod has failed.',
      remedies: [recreate(subject)],
    }),
  ];
}

function recreate(subject: Subject): Remedy {
  return {
    action: 'Delete the pod, so that its controller creates a new one.',
    command: `delete pod ${subject.name}${namespaceFlag(subject)}`,
  };
}
