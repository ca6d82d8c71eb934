/** Why a lease is not held: a leader that is gone, candidates that take it from each other, clocks that differ. */

import type { Lease } from '#api/coordination/v1/types.gen.js';
import { nodes, pods } from '#api/core/v1/resources.gen.js';
import type { Finding, Subject } from '#insight/inquiry/finding.js';
import type { Inquiry } from '#insight/inquiry/inquiry.js';
import { whyNode } from '#insight/questions/node.js';
import { ageMs, finding, specEvidence, statusEvidence, subjectOf } from '#insight/questions/parts.js';
import { whyPod } from '#insight/questions/pod.js';
import { question } from '#insight/questions/termination.js';

/** Changes of the leader that are no accident: so many, and so many per hour. */
const oftenChanges = 12;
const oftenPerHour = 12;
/** Clocks may differ by this much, in seconds. */
const skewSeconds = 10;

export const whyLease = question<Lease>('Lease', async (inquiry, lease, subject) => {
  const { holderIdentity = '', renewTime, leaseDurationSeconds = 15 } = lease.spec ?? {};
  const seconds = ageMs(renewTime, inquiry.nowMs) / 1000;
  if (subject.namespace === inquiry.dialect.namespaces.nodeLease) {
    return seconds <= 2 * leaseDurationSeconds ? [] : nodeFindings(inquiry, subject, seconds);
  }
  if (seconds < -(leaseDurationSeconds + skewSeconds)) return [ahead(lease, subject, -seconds)];
  if (holderIdentity === '' || seconds > 2 * leaseDurationSeconds) {
    return [await withoutLeader(inquiry, lease, subject, seconds)];
  }
  return contested(inquiry, lease, subject);
});

/** The lease of a node shows that its agent lives. */
async function nodeFindings(inquiry: Inquiry, subject: Subject, seconds: number): Promise<readonly Finding[]> {
  const node = await inquiry.get(nodes, subject.name);
  if (node.state === 'unreadable') return [];
  if (node.state === 'present') {
    const causes = await inquiry.causes(subjectOf('Node', node.object), whyNode, node.object);
    if (causes.length > 0) return causes;
  }
  const since = Number.isFinite(seconds) ? ` for ${Math.round(seconds)} seconds` : '';
  return [
    finding({
      subject,
      reason: node.state === 'absent' ? 'NodeMissing' : 'NodeSilent',
      summary:
        node.state === 'absent'
          ? `Node ${subject.name}, whose agent held the lease, does not exist.`
          : `The agent of node ${subject.name} has not renewed its lease${since}.`,
      remedies: [
        node.state === 'absent'
          ? {
              action: 'If the machine is gone for good, delete the lease.',
              command: `delete lease ${subject.name} -n ${subject.namespace ?? ''}`,
            }
          : {
              action: `On the machine, check that ${inquiry.dialect.components.nodeAgent} runs; its log says why not.`,
            },
      ],
    }),
  ];
}

function ahead({ spec }: Lease, subject: Subject, seconds: number): Finding {
  return finding({
    subject,
    reason: 'ClocksDiffer',
    summary: `The lease was renewed ${Math.round(seconds)} seconds in the future: the clock of ${spec?.holderIdentity ?? 'its holder'} is wrong, and other candidates wait too long.`,
    evidence: [specEvidence('spec.renewTime', spec?.renewTime ?? '')],
    remedies: [{ action: 'Let the machines of the control plane take their time from the same servers.' }],
  });
}

async function withoutLeader(inquiry: Inquiry, lease: Lease, subject: Subject, seconds: number): Promise<Finding> {
  const { holderIdentity = '', renewTime } = lease.spec ?? {};
  const since = Number.isFinite(seconds) ? ` for ${Math.round(seconds)} seconds` : '';
  const causes = await holderCauses(inquiry, subject, holderIdentity);
  return finding({
    ...{ subject, causes },
    reason: 'NoLeader',
    summary:
      holderIdentity === ''
        ? `No process leads ${subject.name}.`
        : `Leader ${holderIdentity} of ${subject.name} has not renewed its lease${since}, and no other process has taken it.`,
    evidence: [statusEvidence('spec.renewTime', renewTime), statusEvidence('spec.holderIdentity', holderIdentity)],
    remedies:
      causes.length > 0
        ? []
        : [{ action: `Start ${subject.name}; it reaches the API server and may write its lease.` }],
  });
}

/** The holder may be a pod: identities begin with the name of the host, which is the name of the pod. */
async function holderCauses(
  inquiry: Inquiry,
  { namespace = '' }: Subject,
  identity: string,
): Promise<readonly Finding[]> {
  const name = identity.split('_')[0] ?? '';
  if (name === '' || name === identity) return [];
  const pod = await inquiry.get(pods, name, namespace);
  if (pod.state !== 'present') return [];
  const subject = subjectOf('Pod', pod.object);
  return inquiry.causes(subject, whyPod, pod.object);
}

/** Candidates that take the lease from each other. */
function contested({ nowMs }: Inquiry, { metadata, spec }: Lease, subject: Subject): readonly Finding[] {
  const { leaseTransitions = 0, acquireTime, holderIdentity = '' } = spec ?? {};
  const hours = ageMs(metadata.creationTimestamp, nowMs) / 3_600_000;
  const isOften = leaseTransitions >= oftenChanges && leaseTransitions / hours >= oftenPerHour;
  if (!isOften || ageMs(acquireTime, nowMs) > 600_000) return [];
  return [
    finding({
      subject,
      reason: 'LeadersAlternate',
      summary: `The leader of ${subject.name} has changed ${leaseTransitions} times in ${hours < 1 ? `${Math.round(hours * 60)} minutes` : `${Math.round(hours)} hours`}: two candidates take the lease from each other, or leaders lose it again and again.`,
      evidence: [
        specEvidence('spec.leaseTransitions', String(leaseTransitions)),
        specEvidence('spec.holderIdentity', holderIdentity),
        specEvidence('spec.acquireTime', acquireTime ?? ''),
      ],
      remedies: [
        {
          action:
            'Check that each candidate has an identity of its own, and that the API server answers within the renew deadline.',
        },
      ],
    }),
  ];
}
