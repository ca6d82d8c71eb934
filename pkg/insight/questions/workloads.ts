/** Why Deployments, ReplicaSets and replication controllers lack pods or do not roll out. */

import { replicasets } from '#api/apps/v1/resources.gen.js';
import type { Deployment, ReplicaSet } from '#api/apps/v1/types.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { getCondition } from '#api/meta/v1/condition/conditions.js';
import { compileSelector } from '#apimachinery/selectors/labels.js';
import type { Finding, Subject } from '#insight/inquiry/finding.js';
import { unobserved } from '#insight/questions/controllers.js';
import { creationFailure, creationFinding } from '#insight/questions/creation.js';
import { conditionText, finding, namespaceFlag, specEvidence, statusEvidence } from '#insight/questions/parts.js';
import { podGroups, podsOf } from '#insight/questions/pods-of.js';
import { question } from '#insight/questions/termination.js';

export const whyDeployment = question<Deployment>('Deployment', async (inquiry, deployment, subject) => {
  const { spec, status = {} } = deployment;
  const silent = await unobserved(inquiry, deployment, 'Deployment', status.observedGeneration);
  if (silent.length > 0) return silent;
  const desired = spec?.replicas ?? 1;
  const isDone = (status.updatedReplicas ?? 0) >= desired && (status.availableReplicas ?? 0) >= desired;
  const isClean = (status.replicas ?? 0) === (status.updatedReplicas ?? 0);
  const all: Finding[] = [];
  if (spec?.paused === true && !(isDone && isClean)) all.push(paused(subject));
  const failure = getCondition(status.conditions, 'ReplicaFailure');
  const { uid, namespace = '' } = deployment.metadata;
  const sets = await inquiry.list(replicasets, {
    namespace,
    labelSelector: String(compileSelector(spec?.selector) ?? ''),
  });
  const own = (sets ?? []).filter(({ metadata }) =>
    metadata.ownerReferences?.some((each) => each.controller && each.uid === uid),
  );
  if (failure?.status === 'True')
    all.push(creationFinding(subject, 'conditions.ReplicaFailure', failure.message ?? ''));
  if (!isDone) {
    const pods: Pod[] = [];
    for (const set of own) {
      if ((set.spec?.replicas ?? 1) === 0 && (set.status?.replicas ?? 0) === 0) continue;
      pods.push(...((await podsOf(inquiry, set, set.spec?.selector)) ?? []));
    }
    all.push(...(await podGroups(inquiry, subject, pods)));
  }
  return hung(deployment, subject, all);
});

/** Adds that the rollout has passed its deadline. */
function hung(deployment: Deployment, subject: Subject, causes: readonly Finding[]): readonly Finding[] {
  const progressing = getCondition(deployment.status?.conditions, 'Progressing');
  if (progressing?.status !== 'False') return causes;
  return [
    finding({
      subject,
      reason: progressing.reason ?? 'ProgressDeadlineExceeded',
      summary: `The rollout has made no progress within its ${deployment.spec?.progressDeadlineSeconds ?? 600} seconds.`,
      evidence: [statusEvidence('conditions.Progressing', conditionText(progressing))],
      remedies: [
        {
          action: 'Go back to the revision before.',
          command: `rollout undo deployment/${subject.name}${namespaceFlag(subject)}`,
        },
      ],
      causes,
    }),
  ];
}

function paused(subject: Subject): Finding {
  return finding({
    subject,
    reason: 'RolloutPaused',
    summary: 'The rollout is paused.',
    evidence: [specEvidence('spec.paused', 'true')],
    remedies: [
      { action: 'Go on with it.', command: `rollout resume deployment/${subject.name}${namespaceFlag(subject)}` },
    ],
  });
}

export const whyReplicaSet = question<ReplicaSet>('ReplicaSet', async (inquiry, set, subject) => {
  const { spec, status } = set;
  const silent = await unobserved(inquiry, set, 'ReplicaSet', status?.observedGeneration);
  if (silent.length > 0) return silent;
  const desired = spec?.replicas ?? 1;
  if ((status?.availableReplicas ?? 0) >= desired) return [];
  const failure = getCondition(status?.conditions, 'ReplicaFailure');
  const all: Finding[] = [];
  if (failure?.status === 'True')
    all.push(creationFinding(subject, 'conditions.ReplicaFailure', failure.message ?? ''));
  const pods = await podsOf(inquiry, set, spec?.selector);
  if (pods !== undefined) all.push(...(await podGroups(inquiry, subject, pods)));
  if (all.length === 0 && pods !== undefined && pods.length < desired) {
    const refused = creationFailure(subject, await inquiry.events(subject));
    if (refused !== undefined) all.push(refused);
  }
  return all;
});
