/** Why a DaemonSet lacks pods or does not roll out. */
import type { DaemonSet } from '#api/apps/v1/types.gen.js';
import type { Finding } from '#insight/inquiry/finding.js';
import { unobserved } from '#insight/questions/controllers.js';
import { creationFailure } from '#insight/questions/creation.js';
import { finding, specEvidence, statusEvidence } from '#insight/questions/parts.js';
import { podGroups, podsOf } from '#insight/questions/pods-of.js';
import { question } from '#insight/questions/termination.js';

export const whyDaemonSet = question<DaemonSet>('DaemonSet', async (inquiry, set, subject) => {
  const { spec, status } = set;
  const silent = await unobserved(inquiry, set, 'DaemonSet', status?.observedGeneration);
  if (silent.length > 0) return silent;
  const desired = status?.desiredNumberScheduled ?? 0;
  if (desired === 0)
    return [
      finding({
        subject,
        reason: 'NoNodeMatches',
        summary:
          'No node takes pods of this DaemonSet: its node selector, affinity or missing tolerations exclude all.',
        evidence: [
          statusEvidence('status.desiredNumberScheduled', '0'),
          specEvidence('spec.template.spec.nodeSelector', JSON.stringify(spec?.template.spec?.nodeSelector ?? {})),
        ],
        remedies: [
          { action: 'Label the nodes, or add tolerations to the template.', command: 'get nodes --show-labels' },
        ],
      }),
    ];
  const all: Finding[] = [];
  const pods = await podsOf(inquiry, set, spec?.selector);
  if (pods === undefined) return [];
  if (pods.length < desired) {
    const refused = creationFailure(subject, await inquiry.events(subject));
    if (refused !== undefined) all.push(refused);
  }
  if ((status?.numberAvailable ?? 0) < desired) all.push(...(await podGroups(inquiry, subject, pods)));
  const isOld = (status?.updatedNumberScheduled ?? 0) < desired;
  if (all.length === 0 && isOld && spec?.updateStrategy?.type === 'OnDelete')
    all.push(
      finding({
        subject,
        reason: 'UpdateOnDelete',
        summary: 'Pods get the new template only when they are deleted, as the update strategy says.',
        evidence: [specEvidence('spec.updateStrategy.type', 'OnDelete')],
        remedies: [{ action: 'Delete the old pods, or choose the strategy RollingUpdate.' }],
      }),
    );
  return all;
});
