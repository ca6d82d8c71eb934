/** Why a pod has no node. */

import type { Pod } from '#api/core/v1/types.gen.js';
import { getCondition } from '#api/meta/v1/condition/conditions.js';
import type { Finding, Subject } from '#insight/inquiry/finding.js';
import type { Inquiry } from '#insight/inquiry/inquiry.js';
import { claimCauses } from '#insight/questions/claim.js';
import { ageMs, eventEvidence, finding, specEvidence, statusEvidence } from '#insight/questions/parts.js';

/** A scheduler that works has looked at a pod within this time. */
const firstLookMs = 10_000;

export async function schedulingFindings(inquiry: Inquiry, pod: Pod, subject: Subject): Promise<readonly Finding[]> {
  const condition = getCondition(pod.status?.conditions, 'PodScheduled');
  if (condition === undefined) return withoutScheduler(inquiry, pod, subject);
  if (condition.status === 'True') return [];
  const nominated = pod.status?.nominatedNodeName ?? '';
  const evidence = [statusEvidence('conditions.PodScheduled', condition.message)];
  if (nominated !== '')
    return [
      finding({
        ...{ subject, evidence },
        reason: 'WaitsForPreemption',
        summary: `The pod waits for pods of lower priority to end on node ${nominated}.`,
      }),
    ];
  const claims = await claimFindings(inquiry, pod);
  const placement = claims.length > 0 ? [] : ((await inquiry.placement(pod)) ?? []);
  const isClaim = claims.length > 0;
  return [
    finding({
      ...{ subject, evidence },
      reason: isClaim ? 'ClaimNotReady' : 'FitsNowhere',
      summary: isClaim ? 'A volume claim of the pod is not ready.' : 'No node can take the pod.',
      causes: [...claims, ...placement],
      remedies: isClaim || placement.length > 0 ? [] : remediesFor(condition.message ?? ''),
    }),
  ];
}

/** What helps against the reasons in a scheduler's message. */
function remediesFor(message: string) {
  const remedies: { action: string }[] = [];
  const add = (pattern: RegExp, action: string) => {
    if (pattern.test(message)) remedies.push({ action });
  };
  add(/Insufficient|Too many pods/, 'Lower the requests of the pod, remove other pods, or add a node.');
  add(/untolerated taint/, 'Add a toleration to the pod, or remove the taint from a node.');
  add(/node affinity|node selector/, 'Change the node selector or affinity of the pod, or label a node.');
  add(/unschedulable/, 'Uncordon a node.');
  add(/pod (?:anti-)?affinity|anti-affinity rules/, 'Change the pod affinity rules, or add a node.');
  add(/topology spread/, 'Loosen the topology spread constraints, or add nodes to the smaller domains.');
  add(/free ports/, 'Choose another host port, or add a node.');
  add(/volume/, 'Check the zones and limits of the volumes.');
  add(/no nodes available/, 'Add a node to the cluster.');
  return remedies;
}

/** Claims that are missing or not bound. Claims that wait for their first pod are no cause. */
async function claimFindings(inquiry: Inquiry, pod: Pod): Promise<readonly Finding[]> {
  const { namespace = '' } = pod.metadata;
  const all: Finding[] = [];
  for (const { name, persistentVolumeClaim, ephemeral } of pod.spec.volumes ?? []) {
    const claimName = persistentVolumeClaim?.claimName ?? (ephemeral && `${pod.metadata.name ?? ''}-${name}`);
    if (claimName === undefined) continue;
    all.push(...(await claimCauses(inquiry, claimName, namespace)));
  }
  return all;
}

/** No scheduler has looked at the pod. */
async function withoutScheduler(inquiry: Inquiry, pod: Pod, subject: Subject): Promise<readonly Finding[]> {
  if (ageMs(pod.metadata.creationTimestamp, inquiry.nowMs) < firstLookMs) return [];
  const { components } = inquiry.dialect;
  const name = pod.spec.schedulerName ?? '';
  const events = await inquiry.events(subject);
  const isOwn = name === '' || name === 'default-scheduler';
  return [
    finding({
      subject,
      reason: isOwn ? 'SchedulerSilent' : 'SchedulerMissing',
      summary: isOwn
        ? 'No scheduler has looked at the pod: the scheduler is down or not the leader.'
        : `Scheduler ${name} has not looked at the pod: it is down, or no scheduler has that name.`,
      evidence: [specEvidence('spec.schedulerName', name), ...events.slice(0, 1).map(eventEvidence)],
      remedies: [
        isOwn
          ? {
              action: 'Check that the scheduler runs, and which one leads.',
              command: `get lease ${components.scheduler} -n ${inquiry.dialect.namespaces.system}`,
            }
          : { action: `Start scheduler ${name}, or create the pod without schedulerName.` },
      ],
    }),
  ];
}
