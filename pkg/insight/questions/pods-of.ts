/** What the pods of one owner have in common. */
import { pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import type { LabelSelector } from '#api/meta/v1/types.gen.js';
import { compileSelector } from '#apimachinery/selectors/labels.js';
import type { Finding, Subject } from '#insight/inquiry/finding.js';
import type { Inquiry } from '#insight/inquiry/inquiry.js';
import type { StoredObject } from '#insight/inquiry/observations.js';
import { counted, finding, subjectOf } from '#insight/questions/parts.js';
import { isPodFine, whyPod } from '#insight/questions/pod.js';

/** Pods of one owner that are asked about; the others are alike. */
const maxPods = 20;

/** The pods that the object controls; undefined if they cannot be read. */
export async function podsOf(
  inquiry: Inquiry,
  owner: StoredObject,
  selector: LabelSelector | undefined,
): Promise<readonly Pod[] | undefined> {
  const { namespace = '', uid } = owner.metadata;
  const labelSelector = String(compileSelector(selector) ?? '');
  const all = await inquiry.list(pods, { namespace, ...(labelSelector === '' ? {} : { labelSelector }) });
  return all?.filter(({ metadata }) => metadata.ownerReferences?.some((each) => each.controller && each.uid === uid));
}

/** One finding for each reason that keeps pods from being ready, with the first such pod as its example. */
export async function podGroups(inquiry: Inquiry, subject: Subject, all: readonly Pod[]): Promise<readonly Finding[]> {
  const troubled = all.filter((pod) => !isPodFine(pod)).slice(0, maxPods);
  const groups = new Map<string, { count: number; readonly first: Finding }>();
  for (const pod of troubled) {
    const of = subjectOf('Pod', pod);
    for (const cause of await inquiry.causes(of, whyPod, pod)) {
      const group = groups.get(cause.reason);
      if (group === undefined) groups.set(cause.reason, { count: 1, first: cause });
      else group.count++;
    }
  }
  return [...groups.values()].map(({ count, first }) =>
    count === 1
      ? first
      : finding({
          subject,
          reason: first.reason,
          summary: `${counted(count, 'pod')} have the same problem; ${first.subject.name} is one of them.`,
          causes: [first],
        }),
  );
}
