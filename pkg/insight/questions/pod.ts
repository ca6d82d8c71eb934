/** Why a pod does not run, is not ready, has ended or does not go. */
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Finding } from '#insight/inquiry/finding.js';
import type { Inquiry } from '#insight/inquiry/inquiry.js';
import { containerFindings } from '#insight/questions/containers.js';
import { subjectOf } from '#insight/questions/parts.js';
import { failureFindings } from '#insight/questions/pod-failure.js';
import { schedulingFindings } from '#insight/questions/pod-scheduling.js';
import { startFindings } from '#insight/questions/pod-start.js';
import { podTermination } from '#insight/questions/pod-termination.js';
import { readinessFindings } from '#insight/questions/readiness.js';

export async function whyPod(inquiry: Inquiry, pod: Pod): Promise<readonly Finding[]> {
  const subject = subjectOf('Pod', pod);
  if (pod.metadata.deletionTimestamp !== undefined) return podTermination(inquiry, pod, subject);
  switch (pod.status?.phase ?? 'Pending') {
    case 'Succeeded':
      return [];
    case 'Failed':
      return failureFindings(inquiry, pod, subject);
  }
  if ((pod.spec.nodeName ?? '') === '') return schedulingFindings(inquiry, pod, subject);
  const start = await startFindings(inquiry, pod, subject);
  if (start.length > 0) return start;
  const containers = await containerFindings(inquiry, pod, subject);
  if (containers.length > 0) return containers;
  return readinessFindings(inquiry, pod, subject);
}

/** Whether the pod is as its owner wants it: ready, or ended with success. */
export function isPodFine({ metadata, status }: Pod): boolean {
  if (metadata.deletionTimestamp !== undefined) return false;
  if (status?.phase === 'Succeeded') return true;
  return status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
}
