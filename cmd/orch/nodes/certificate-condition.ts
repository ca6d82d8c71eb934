/** What a node says of the certificates on its machine, in a condition of its own. */
import { nodes } from '#api/core/v1/resources.gen.js';
import type { Node, NodeCondition } from '#api/core/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Client } from '#client/client.js';
import { type CertificateReport, endOf } from '#cmd/orch/pki/report.js';

const type = 'CertificatesExpiring';
/** More are counted. */
const named = 3;

/** What the condition says. Pure. @param now Milliseconds since the epoch. */
export function certificateCondition(
  ending: readonly CertificateReport[],
  now: number,
): Pick<NodeCondition, 'status' | 'reason' | 'message'> {
  const [first] = ending;
  if (first === undefined)
    return { status: 'False', reason: 'CertificatesValid', message: 'no certificate of this machine ends soon' };
  const texts = ending.slice(0, named).map(({ file, notAfter, problem }) => {
    if (notAfter === undefined) return `${file} cannot be read: ${problem}`;
    return `${file} ${Date.parse(notAfter) < now ? 'ended' : 'ends'} at ${notAfter}`;
  });
  if (ending.length > named) texts.push(`${ending.length - named} more`);
  const hasEnded = endOf(first) < now;
  return {
    status: 'True',
    reason: hasEnded ? 'CertificatesExpired' : 'CertificatesExpireSoon',
    message: `${texts.join(', ')}; on the machine: orch certs renew`,
  };
}

export interface ShownCertificates {
  readonly client: Client;
  readonly node: string;
  readonly clock: Clock;
}

/** Writes the condition where it changes; a node on which nothing has ever ended has none. Rejects with the client's errors. */
export async function showCertificates(
  { client, node: name, clock }: ShownCertificates,
  ending: readonly CertificateReport[],
): Promise<void> {
  const api = client.resource<Node>(nodes);
  const { status } = await api.get(name);
  const shown = status?.conditions?.find((condition) => condition.type === type);
  const wanted = certificateCondition(ending, clock.now());
  if (shown === undefined && wanted.status === 'False') return;
  if (shown?.status === wanted.status && shown.reason === wanted.reason && shown.message === wanted.message) return;
  const at = new Date(clock.now()).toISOString().replace(/\.\d+Z$/, 'Z');
  const lastTransitionTime = shown?.status === wanted.status ? shown.lastTransitionTime : at;
  const condition = { type, ...wanted, lastHeartbeatTime: at, lastTransitionTime };
  await api.patch(name, { status: { conditions: [condition] } }, { type: 'strategic', subresource: 'status' });
}
