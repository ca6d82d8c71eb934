/** Why a running pod is not ready. */

import type { Pod } from '#api/core/v1/types.gen.js';
import { getCondition } from '#api/meta/v1/condition/conditions.js';
import type { Finding, Subject } from '#insight/inquiry/finding.js';
import type { Inquiry } from '#insight/inquiry/inquiry.js';
import { nodeCauses } from '#insight/questions/node.js';
import {
  conditionText,
  eventEvidence,
  finding,
  namespaceFlag,
  specEvidence,
  statusEvidence,
} from '#insight/questions/parts.js';

/** A restart within this time is worth a word although the container runs again. */
const recentMs = 10 * 60_000;

export async function readinessFindings(inquiry: Inquiry, pod: Pod, subject: Subject): Promise<readonly Finding[]> {
  const ready = getCondition(pod.status?.conditions, 'Ready');
  if (pod.status?.phase !== 'Running' || ready === undefined) return [];
  if (ready.status === 'True') return restarts(inquiry, pod, subject);
  const node = await nodeCauses(inquiry, pod);
  const silent = node.filter(({ reason }) => reason === 'NodeSilent' || reason === 'NodeMissing');
  if (silent.length > 0)
    return [
      finding({
        subject,
        reason: 'NodeSilent',
        summary: `The pod counts as not ready, because its node ${pod.spec.nodeName ?? ''} is silent.`,
        causes: silent,
      }),
    ];
  const failing = await probeFindings(inquiry, pod, subject);
  return [...failing, ...gateFindings(pod, subject)];
}

async function probeFindings(inquiry: Inquiry, pod: Pod, subject: Subject): Promise<readonly Finding[]> {
  const events = await inquiry.events(subject);
  const all: Finding[] = [];
  for (const { name, ready, started, state } of pod.status?.containerStatuses ?? []) {
    if (ready || state?.running === undefined) continue;
    const kind = started === false ? 'Startup' : 'Readiness';
    const event = events.find(
      ({ reason, message = '', involvedObject }) =>
        reason === 'Unhealthy' &&
        message.startsWith(kind) &&
        (involvedObject.fieldPath === undefined || involvedObject.fieldPath.includes(`{${name}}`)),
    );
    // A probe that has not failed yet has not succeeded often enough.
    if (event === undefined) continue;
    all.push(
      finding({
        subject,
        reason: 'ProbeFails',
        summary: `Container ${name} runs, but its ${kind.toLowerCase()} probe fails.`,
        evidence: [eventEvidence(event)],
        remedies: [
          { action: `Correct the probe (port, path, time limits), or what the container answers.` },
          { action: 'Read what it prints.', command: `logs ${subject.name}${namespaceFlag(subject)} -c ${name}` },
        ],
      }),
    );
  }
  return all;
}

function gateFindings(pod: Pod, subject: Subject): Finding[] {
  return (pod.spec.readinessGates ?? []).flatMap(({ conditionType }) => {
    const condition = getCondition(pod.status?.conditions, conditionType);
    if (condition?.status === 'True') return [];
    return [
      finding({
        subject,
        reason: 'ReadinessGateClosed',
        summary: `Readiness gate ${conditionType} is ${condition === undefined ? 'not set' : `"${condition.status}"`}.`,
        evidence: [
          specEvidence('spec.readinessGates', conditionType),
          condition && statusEvidence(`conditions.${conditionType}`, conditionText(condition)),
        ],
        remedies: [{ action: `Check the controller that sets condition ${conditionType}.` }],
      }),
    ];
  });
}

/** Containers that run again after a crash a short time ago. */
async function restarts(inquiry: Inquiry, pod: Pod, subject: Subject): Promise<readonly Finding[]> {
  const all: Finding[] = [];
  for (const { name, restartCount, lastState } of pod.status?.containerStatuses ?? []) {
    const ended = lastState?.terminated;
    if (ended === undefined || ended.exitCode === 0 || restartCount < 3) continue;
    if (inquiry.nowMs - Date.parse(ended.finishedAt ?? '') > recentMs) continue;
    const isMemory = ended.reason === 'OOMKilled';
    all.push(
      finding({
        subject,
        reason: isMemory ? 'OutOfMemory' : 'Crashes',
        summary: `Container ${name} runs now, but has ended ${restartCount} times, last with exit code ${ended.exitCode}${isMemory ? ' for lack of memory' : ''}.`,
        evidence: [statusEvidence('lastState.terminated', `${ended.reason ?? ''}, exit code ${ended.exitCode}`)],
        remedies: [
          {
            action: 'Read what it printed before its last end.',
            command: `logs ${subject.name}${namespaceFlag(subject)} -c ${name} --previous`,
          },
        ],
      }),
    );
  }
  return all;
}
