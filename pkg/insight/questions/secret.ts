/** Why a secret is of no use: certificates that are over, for other hosts or without their key. */
import type { Secret } from '#api/core/v1/types.gen.js';
import { ingresses } from '#api/networking/v1/resources.gen.js';
import type { Ingress } from '#api/networking/v1/types.gen.js';
import type { Inquiry } from '#insight/inquiry/inquiry.js';
import { certificateProblems } from '#insight/questions/certificates.js';
import { finding, specEvidence, subjectOf } from '#insight/questions/parts.js';
import { question } from '#insight/questions/termination.js';

export const whySecret = question<Secret>('Secret', async (inquiry, secret, subject) => {
  const { type = '' } = secret;
  if (type !== inquiry.dialect.secretTypes.tls) return [];
  const users = await usersOf(inquiry, secret);
  const hosts = [...new Set(users.flatMap(({ hosts: each }) => each))];
  return certificateProblems(inquiry.nowMs, secret, hosts).map(({ reason, summary, action }) =>
    finding({
      ...{ subject, reason, summary },
      evidence: users
        .slice(0, 3)
        .map(({ ingress }) => specEvidence('spec.tls.secretName', subject.name, subjectOf('Ingress', ingress))),
      remedies: [{ action }],
    }),
  );
});

interface User {
  readonly ingress: Ingress;
  readonly hosts: readonly string[];
}

/** The ingresses with the certificate, and the hosts that they want it for. */
async function usersOf(inquiry: Inquiry, { metadata }: Secret): Promise<readonly User[]> {
  const { name = '', namespace = '' } = metadata;
  const all = (await inquiry.list(ingresses, { namespace })) ?? [];
  return all.flatMap((ingress) =>
    (ingress.spec?.tls ?? [])
      .filter(({ secretName }) => secretName === name)
      .map(({ hosts = [] }) => ({ ingress, hosts })),
  );
}
