/** Whether the controllers that should act are there. */
import { leases } from '#api/coordination/v1/resources.gen.js';
import type { Finding } from '#insight/inquiry/finding.js';
import type { Inquiry } from '#insight/inquiry/inquiry.js';
import type { StoredObject } from '#insight/inquiry/observations.js';
import { ageMs, finding, statusEvidence } from '#insight/questions/parts.js';

/** A controller has seen a change within this time. */
const reactionMs = 15_000;

/** A spec that no controller has observed for a while. */
export async function unobserved(
  inquiry: Inquiry,
  object: StoredObject,
  kind: string,
  observedGeneration: number | bigint | undefined,
): Promise<readonly Finding[]> {
  const { generation = 0, name = '', namespace, creationTimestamp, managedFields = [] } = object.metadata;
  if (generation <= Number(observedGeneration ?? 0)) return [];
  const changes = managedFields.filter(({ subresource = '' }) => subresource === '').map(({ time }) => time ?? '');
  const changed = changes.sort().at(-1) ?? creationTimestamp;
  if (ageMs(changed, inquiry.nowMs) < reactionMs) return [];
  const subject = { kind, ...(namespace === undefined ? {} : { namespace }), name };
  return [
    finding({
      subject,
      reason: 'ControllerSilent',
      summary: `No controller has acted on the last change of the ${kind}.`,
      evidence: [
        statusEvidence('status.observedGeneration', String(observedGeneration ?? 0)),
        { source: 'metadata', at: 'metadata.generation', text: String(generation) },
      ],
      causes: await whyElection(inquiry, inquiry.dialect.components.controllerManager),
      remedies: [
        { action: `Check that ${inquiry.dialect.components.controllerManager} runs; its log says what it cannot do.` },
      ],
    }),
  ];
}

/** Why a component has no leader that works. */
export async function whyElection(inquiry: Inquiry, component: string): Promise<readonly Finding[]> {
  const { system } = inquiry.dialect.namespaces;
  const subject = { kind: 'Lease', namespace: system, name: component };
  const lease = await inquiry.get(leases, component, system);
  if (lease.state !== 'present') return [];
  const { holderIdentity = '', renewTime, leaseDurationSeconds = 15 } = lease.object.spec ?? {};
  const seconds = ageMs(renewTime, inquiry.nowMs) / 1000;
  if (holderIdentity !== '' && seconds <= 2 * leaseDurationSeconds) return [];
  const since = Number.isFinite(seconds) ? ` for ${Math.round(seconds)} seconds` : '';
  return [
    finding({
      subject,
      reason: 'NoLeader',
      summary:
        holderIdentity === ''
          ? `No process leads ${component}.`
          : `Leader ${holderIdentity} of ${component} has not renewed its lease${since}, and no other process has taken it.`,
      evidence: [statusEvidence('spec.renewTime', renewTime), statusEvidence('spec.holderIdentity', holderIdentity)],
      remedies: [{ action: `Start ${component}; it reaches the API server and may write its lease.` }],
    }),
  ];
}
