/** Why a pod that was deleted is still there. */
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Finding, Subject } from '#insight/inquiry/finding.js';
import type { Inquiry } from '#insight/inquiry/inquiry.js';
import { nodeCauses } from '#insight/questions/node.js';
import { finding, namespaceFlag } from '#insight/questions/parts.js';
import { finalizerFindings } from '#insight/questions/termination.js';

/** The node agent may take this long beyond the grace period. */
const slackMs = 30_000;

export async function podTermination(inquiry: Inquiry, pod: Pod, subject: Subject): Promise<readonly Finding[]> {
  const { deletionTimestamp = '', finalizers = [] } = pod.metadata;
  // The timestamp is the end of the grace period.
  const overMs = inquiry.nowMs - Date.parse(deletionTimestamp);
  if (overMs <= slackMs) return [];
  const blocked = finalizerFindings(inquiry.dialect, subject, finalizers);
  const isEnded = pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
  if (blocked.length > 0 && (isEnded || (pod.spec.nodeName ?? '') === '')) return blocked;
  const node = await nodeCauses(inquiry, pod);
  const force = `delete pod ${subject.name}${namespaceFlag(subject)} --grace-period=0 --force`;
  return [
    ...blocked,
    finding({
      subject,
      reason: 'PodDoesNotEnd',
      summary: `The pod should have ended ${Math.round(overMs / 1000)} seconds ago.`,
      evidence: [{ source: 'metadata', at: 'metadata.deletionTimestamp', text: deletionTimestamp }],
      causes: node,
      remedies: [
        node.length > 0
          ? {
              action:
                'If the machine is off for certain, remove the pod without its agent; a second copy may run otherwise.',
              command: force,
            }
          : { action: `Check the log of ${inquiry.dialect.components.nodeAgent} on node ${pod.spec.nodeName ?? ''}.` },
      ],
    }),
  ];
}
