/** Which budgets keep the pods of a cordoned node from being evicted, so that a drain waits. */
import { pods } from '#api/core/v1/resources.gen.js';
import type { Node, Pod } from '#api/core/v1/types.gen.js';
import { poddisruptionbudgets } from '#api/policy/v1/resources.gen.js';
import type { PodDisruptionBudget } from '#api/policy/v1/types.gen.js';
import { compileSelector } from '#apimachinery/selectors/labels.js';
import type { Finding, Subject } from '#insight/inquiry/finding.js';
import type { Inquiry } from '#insight/inquiry/inquiry.js';
import { whyBudget } from '#insight/questions/budget.js';
import { whyNode } from '#insight/questions/node.js';
import { finding, isDeleted, specEvidence, statusEvidence, subjectOf } from '#insight/questions/parts.js';

/** Budgets in one answer. */
const maxBudgets = 5;

async function drainFindings(inquiry: Inquiry, subject: Subject): Promise<readonly Finding[]> {
  const on = (await inquiry.list(pods, { fieldSelector: `spec.nodeName=${subject.name}` })) ?? [];
  const evicted = on.filter((pod) => isEvicted(inquiry, pod));
  const namespaces = new Set(evicted.map(({ metadata }) => metadata.namespace ?? ''));
  const findings: Finding[] = [];
  for (const namespace of namespaces) {
    const budgets = (await inquiry.list(poddisruptionbudgets, { namespace })) ?? [];
    for (const budget of budgets) {
      if (findings.length === maxBudgets) return findings;
      if (!isBlocking(budget)) continue;
      const pod = evicted.find((each) => each.metadata.namespace === namespace && isProtected(budget, each));
      if (pod !== undefined) findings.push(await blocked(inquiry, subject, budget, pod));
    }
  }
  return findings;
}

/** A drain leaves pods of DaemonSets, mirrors of static pods, and those that end anyway. */
function isEvicted({ dialect }: Inquiry, pod: Pod): boolean {
  const { annotations = {}, ownerReferences = [] } = pod.metadata;
  if (isDeleted(pod) || annotations[dialect.annotations.configMirror] !== undefined) return false;
  if (ownerReferences.some(({ kind, controller }) => controller === true && kind === 'DaemonSet')) return false;
  return pod.status?.phase !== 'Succeeded' && pod.status?.phase !== 'Failed';
}

function isBlocking({ status }: PodDisruptionBudget): boolean {
  return status !== undefined && status.disruptionsAllowed <= 0 && status.expectedPods > 0;
}

function isProtected({ spec }: PodDisruptionBudget, { metadata }: Pod): boolean {
  return compileSelector(spec?.selector)?.matches(metadata.labels) === true;
}

async function blocked(inquiry: Inquiry, subject: Subject, budget: PodDisruptionBudget, pod: Pod): Promise<Finding> {
  const of = subjectOf('PodDisruptionBudget', budget);
  const causes = await inquiry.causes(of, whyBudget, budget);
  return finding({
    ...{ subject, causes },
    reason: 'DrainBlocked',
    summary: `A drain of the node waits: budget ${of.namespace ?? ''}/${of.name} allows no eviction of pod ${pod.metadata.name ?? ''}.`,
    evidence: [
      statusEvidence('status.disruptionsAllowed', '0', of),
      specEvidence('spec.nodeName', subject.name, subjectOf('Pod', pod)),
    ],
  });
}

/** Why a node takes no pods, and what a drain of it waits for. */
export async function whyNodeAndDrain(inquiry: Inquiry, node: Node): Promise<readonly Finding[]> {
  const findings = await whyNode(inquiry, node);
  if (node.spec?.unschedulable !== true) return findings;
  return [...findings, ...(await drainFindings(inquiry, subjectOf('Node', node)))];
}
