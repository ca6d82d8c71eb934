/** Why a StatefulSet lacks pods or does not roll out. */
import type { StatefulSet } from '#api/apps/v1/types.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Finding, Subject } from '#insight/inquiry/finding.js';
import type { Inquiry } from '#insight/inquiry/inquiry.js';
import { unobserved } from '#insight/questions/controllers.js';
import { creationFailure } from '#insight/questions/creation.js';
import { finding, specEvidence, statusEvidence, subjectOf } from '#insight/questions/parts.js';
import { isPodFine, whyPod } from '#insight/questions/pod.js';
import { podGroups, podsOf } from '#insight/questions/pods-of.js';
import { question } from '#insight/questions/termination.js';

export const whyStatefulSet = question<StatefulSet>('StatefulSet', async (inquiry, set, subject) => {
  const { spec, status } = set;
  const silent = await unobserved(inquiry, set, 'StatefulSet', status?.observedGeneration);
  if (silent.length > 0) return silent;
  const desired = spec?.replicas ?? 1;
  const pods = await podsOf(inquiry, set, spec?.selector);
  if (pods === undefined) return [];
  const all: Finding[] = [];
  if ((status?.readyReplicas ?? 0) < desired) {
    const refused = pods.length < desired ? creationFailure(subject, await inquiry.events(subject)) : undefined;
    if (refused !== undefined) all.push(refused);
    const first = spec?.podManagementPolicy === 'Parallel' ? undefined : firstTroubled(pods);
    if (first === undefined) all.push(...(await podGroups(inquiry, subject, pods)));
    else all.push(...(await inTurn(inquiry, { set, subject, first, missing: desired - pods.length })));
  }
  if (all.length === 0) all.push(...heldBack(set, subject));
  return all;
});

const ordinalOf = ({ metadata: { name = '' } }: Pod): number => Number(/-([0-9]+)$/.exec(name)?.[1] ?? 0);

/** Pods come one after the other: the first one that is not ready keeps all others. */
function firstTroubled(pods: readonly Pod[]): Pod | undefined {
  return [...pods].sort((a, b) => ordinalOf(a) - ordinalOf(b)).find((pod) => !isPodFine(pod));
}

async function inTurn(
  inquiry: Inquiry,
  { subject, first, missing }: { set: StatefulSet; subject: Subject; first: Pod; missing: number },
): Promise<readonly Finding[]> {
  const causes = await inquiry.causes(subjectOf('Pod', first), whyPod, first);
  if (causes.length === 0 || missing <= 0) return causes;
  return [
    finding({
      ...{ subject, causes },
      reason: 'WaitsForPod',
      summary: `Pods are created one after the other, and ${first.metadata.name ?? ''} is not ready.`,
      evidence: [specEvidence('spec.podManagementPolicy', 'OrderedReady')],
    }),
  ];
}

/** An update that the strategy holds back. */
function heldBack({ spec, status }: StatefulSet, subject: Subject): Finding[] {
  const { currentRevision = '', updateRevision = '', updatedReplicas = 0, replicas = 0 } = status ?? {};
  if (currentRevision === updateRevision || updatedReplicas >= replicas) return [];
  const { type, rollingUpdate } = spec?.updateStrategy ?? {};
  const partition = rollingUpdate?.partition ?? 0;
  const revision = statusEvidence('status.updateRevision', updateRevision);
  if (type === 'OnDelete')
    return [
      finding({
        subject,
        reason: 'UpdateOnDelete',
        summary: 'Pods get the new template only when they are deleted, as the update strategy says.',
        evidence: [specEvidence('spec.updateStrategy.type', 'OnDelete'), revision],
        remedies: [{ action: 'Delete the pods one after the other, or choose the strategy RollingUpdate.' }],
      }),
    ];
  if (partition > 0)
    return [
      finding({
        subject,
        reason: 'UpdatePartitioned',
        summary: `Pods with numbers below ${partition} keep the old template.`,
        evidence: [specEvidence('spec.updateStrategy.rollingUpdate.partition', String(partition)), revision],
        remedies: [{ action: 'Lower the partition to go on with the update.' }],
      }),
    ];
  return [];
}
