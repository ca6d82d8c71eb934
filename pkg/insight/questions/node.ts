/** What is wrong with a node: silence, conditions, pressure, cordons. */

import { leases } from '#api/coordination/v1/resources.gen.js';
import { nodes } from '#api/core/v1/resources.gen.js';
import type { Node, NodeCondition, Pod } from '#api/core/v1/types.gen.js';
import { getCondition } from '#api/meta/v1/condition/conditions.js';
import type { Finding, Subject } from '#insight/inquiry/finding.js';
import type { Inquiry } from '#insight/inquiry/inquiry.js';
import { ageMs, conditionText, finding, specEvidence, statusEvidence, subjectOf } from '#insight/questions/parts.js';

const pressures: Readonly<Record<string, { readonly reason: string; readonly of: string; readonly action: string }>> = {
  MemoryPressure: {
    reason: 'NodeMemoryPressure',
    of: 'memory',
    action: 'Lower the memory use of its pods, or move some of them to another node.',
  },
  DiskPressure: {
    reason: 'NodeDiskPressure',
    of: 'disk space',
    action: 'Remove unused images and logs on the node, or give it a larger disk.',
  },
  PIDPressure: {
    reason: 'NodeProcessPressure',
    of: 'process numbers',
    action: 'End the pods with very many processes, or limit them with --pod-max-pids.',
  },
  NetworkUnavailable: {
    reason: 'NodeNetworkUnavailable',
    of: 'a network',
    action: "Check the network plugin's pods on the node.",
  },
};

export async function whyNode(inquiry: Inquiry, node: Node): Promise<readonly Finding[]> {
  const subject = subjectOf('Node', node);
  const { conditions } = node.status ?? {};
  const ready = getCondition(conditions, 'Ready');
  const findings: Finding[] = [];
  if (ready === undefined || ready.status === 'Unknown') findings.push(await silence(inquiry, node, subject, ready));
  else if (ready.status === 'False') findings.push(notReady(subject, ready));
  for (const [type, { reason, of, action }] of Object.entries(pressures)) {
    const condition = getCondition(conditions, type);
    if (condition?.status !== 'True') continue;
    findings.push(
      finding({
        ...{ subject, reason },
        summary: `Node ${subject.name} is short of ${of}.`,
        evidence: [statusEvidence(`conditions.${type}`, conditionText(condition))],
        remedies: [{ action }],
      }),
    );
  }
  if (node.spec?.unschedulable === true && findings.length === 0)
    findings.push(
      finding({
        subject,
        reason: 'NodeCordoned',
        summary: `Node ${subject.name} takes no new pods, because it is cordoned.`,
        evidence: [specEvidence('spec.unschedulable', 'true')],
        remedies: [{ action: 'Let it take pods again.', command: `uncordon ${subject.name}` }],
      }),
    );
  return findings;
}

async function silence(
  inquiry: Inquiry,
  node: Node,
  subject: Subject,
  ready: NodeCondition | undefined,
): Promise<Finding> {
  const { nodeLease } = inquiry.dialect.namespaces;
  const lease = await inquiry.get(leases, subject.name, nodeLease);
  const renewed = lease.state === 'present' ? lease.object.spec?.renewTime : undefined;
  const seconds = Math.round(ageMs(renewed, inquiry.nowMs) / 1000);
  const since = Number.isFinite(seconds) ? ` for ${seconds} seconds` : '';
  const agent = inquiry.dialect.components.nodeAgent;
  return finding({
    subject,
    reason: 'NodeSilent',
    summary: `The agent of node ${subject.name} has not reported${since}: the machine, its network or the agent is down.`,
    evidence: [
      ready && statusEvidence('conditions.Ready', conditionText(ready)),
      renewed === undefined
        ? undefined
        : statusEvidence('spec.renewTime', renewed, { kind: 'Lease', namespace: nodeLease, name: subject.name }),
      node.status?.nodeInfo === undefined ? statusEvidence('status', 'the agent has never reported') : undefined,
    ],
    remedies: [
      { action: `On the machine, check that ${agent} runs and reaches the API server; its log says why not.` },
      { action: 'If the machine is gone, delete the node.', command: `delete node ${subject.name}` },
    ],
  });
}

function notReady(subject: Subject, ready: NodeCondition): Finding {
  const text = conditionText(ready);
  const [reason, action] = /network/i.test(text)
    ? ['NodeNetworkUnavailable', 'Install a network plugin, or check its configuration in /etc/cni/net.d on the node.']
    : /runtime|PLEG/.test(text)
      ? ['RuntimeDown', 'Check the container runtime on the node.']
      : /shutting down/.test(text)
        ? ['NodeShutdown', 'The machine is being shut down; its pods move to other nodes.']
        : ['NodeNotReady', "Check the agent's log on the node."];
  return finding({
    ...{ subject, reason },
    summary: `Node ${subject.name} is not ready.`,
    evidence: [statusEvidence('conditions.Ready', text)],
    remedies: [{ action }],
  });
}

/** What is wrong with the node of a pod. */
export async function nodeCauses(inquiry: Inquiry, pod: Pod): Promise<readonly Finding[]> {
  const name = pod.spec.nodeName ?? '';
  const subject = { kind: 'Node', name };
  const node = await inquiry.get(nodes, name);
  if (node.state === 'present') return inquiry.causes(subject, whyNode, node.object);
  if (node.state === 'unreadable') return [];
  return [
    finding({
      subject,
      reason: 'NodeMissing',
      summary: `Node ${name} does not exist.`,
      remedies: [
        { action: 'The pod is removed by the garbage collection of pods; its controller creates another one.' },
      ],
    }),
  ];
}
