/** Why a namespace that was deleted is still there. */
import type { Namespace } from '#api/core/v1/types.gen.js';
import type { Finding } from '#insight/inquiry/finding.js';
import type { Inquiry } from '#insight/inquiry/inquiry.js';
import { whyElection } from '#insight/questions/controllers.js';
import { conditionText, finding, statusEvidence, subjectOf } from '#insight/questions/parts.js';

/** The controller may take this long. */
const deletionMs = 15_000;

interface Meaning {
  readonly reason: string;
  readonly summary: string;
  readonly action: string;
  readonly command?: string;
}

const meanings: Readonly<Record<string, Meaning>> = {
  NamespaceDeletionDiscoveryFailure: {
    reason: 'ApiUnavailable',
    summary: 'An API does not answer, so that its objects in the namespace cannot be listed.',
    action: 'Repair the server of the API, or delete its APIService.',
    command: 'get apiservices',
  },
  NamespaceDeletionGroupVersionParsingFailure: {
    reason: 'ApiUnavailable',
    summary: 'An API has a name that cannot be read.',
    action: 'Delete its APIService.',
    command: 'get apiservices',
  },
  NamespaceDeletionContentFailure: {
    reason: 'ContentNotDeleted',
    summary: 'Objects of the namespace cannot be deleted.',
    action: 'Change what the message names, such as a webhook that refuses.',
  },
  NamespaceFinalizersRemaining: {
    reason: 'FinalizerPending',
    summary: 'Objects of the namespace have finalizers whose controllers have not acted.',
    action: 'Start these controllers; only if they are gone for good, remove the finalizers of the objects.',
  },
  NamespaceContentRemaining: {
    reason: 'ContentRemains',
    summary: 'The namespace still has objects.',
    action: 'Find out why they do not go.',
  },
};

export async function whyNamespace(inquiry: Inquiry, namespace: Namespace): Promise<readonly Finding[]> {
  const { deletionTimestamp } = namespace.metadata;
  if (deletionTimestamp === undefined || inquiry.nowMs - Date.parse(deletionTimestamp) < deletionMs) return [];
  const subject = subjectOf('Namespace', namespace);
  const all: Finding[] = [];
  const { conditions = [] } = namespace.status ?? {};
  for (const [type, { reason, summary, action, command }] of Object.entries(meanings)) {
    const condition = conditions.find((each) => each.type === type && each.status === 'True');
    if (condition === undefined) continue;
    // Content with finalizers is told of once.
    if (type === 'NamespaceContentRemaining' && all.length > 0) continue;
    all.push(
      finding({
        ...{ subject, reason, summary },
        evidence: [statusEvidence(`conditions.${type}`, conditionText(condition))],
        remedies: [{ action, ...(command === undefined ? {} : { command }) }],
      }),
    );
  }
  if (all.length > 0) return all;
  const { controllerManager } = inquiry.dialect.components;
  return [
    finding({
      subject,
      reason: 'ControllerSilent',
      summary: 'No controller has deleted the content of the namespace.',
      evidence: [{ source: 'spec', at: 'spec.finalizers', text: (namespace.spec?.finalizers ?? []).join(', ') }],
      causes: await whyElection(inquiry, controllerManager),
      remedies: [{ action: `Check that ${controllerManager} runs; its log says what it cannot do.` }],
    }),
  ];
}
