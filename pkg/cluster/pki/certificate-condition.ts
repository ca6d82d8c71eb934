/** The node condition that reports certificates of its machine which end soon. */
import { nodes } from '#api/core/v1/resources.gen.js';
import type { Node, NodeCondition } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Client } from '#client/client.js';
import { type CertificateReport, endOf } from '#cluster/pki/report.js';

const type = 'CertificatesExpiring';
/** Certificates that the message names; the rest are counted. */
const maxNamed = 3;

/** Status, reason and message of the condition. Pure. @param now Milliseconds since the epoch. */
export function certificateCondition(
  ending: readonly CertificateReport[],
  now: number,
): Pick<NodeCondition, 'status' | 'reason' | 'message'> {
  const [first] = ending;
  if (first === undefined)
    return { status: 'False', reason: 'CertificatesValid', message: 'no certificate of this machine ends soon' };
  const texts = ending.slice(0, maxNamed).map(({ file, notAfter, problem }) => {
    if (notAfter === undefined) return `${file} cannot be read: ${problem}`;
    return `${file} ${Date.parse(notAfter) < now ? 'ended' : 'ends'} at ${notAfter}`;
  });
  if (ending.length > maxNamed) texts.push(`${ending.length - maxNamed} more`);
  const hasEnded = endOf(first) < now;
  return {
    status: 'True',
    reason: hasEnded ? 'CertificatesExpired' : 'CertificatesExpireSoon',
    message: `${texts.join(', ')}; on the machine: orch certs renew`,
  };
}

export interface ConditionTarget {
  readonly client: Client;
  readonly node: string;
  readonly clock: Clock;
}

/** Writes the condition when it changes, for the first time when a certificate ends soon. Rejects with the client's errors. */
export async function updateCertificateCondition(
  { client, node: name, clock }: ConditionTarget,
  ending: readonly CertificateReport[],
): Promise<void> {
  const api = client.resource<Node>(nodes);
  const { status } = await api.get(name);
  const old = status?.conditions?.find((condition) => condition.type === type);
  const next = certificateCondition(ending, clock.now());
  if (old === undefined && next.status === 'False') return;
  if (old?.status === next.status && old.reason === next.reason && old.message === next.message) return;
  const at = new Date(clock.now()).toISOString().replace(/\.\d+Z$/, 'Z');
  const lastTransitionTime = old?.status === next.status ? old.lastTransitionTime : at;
  const condition = { type, ...next, lastHeartbeatTime: at, lastTransitionTime };
  await api.patch(name, { status: { conditions: [condition] } }, { type: 'strategic', subresource: 'status' });
}
