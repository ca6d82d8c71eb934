/** Why a signing request brings no certificate: approval, signers, controllers. */
import type { CertificateSigningRequest } from '#api/certificates/v1/types.gen.js';
import { getCondition } from '#api/meta/v1/condition/conditions.js';
import type { Finding, Subject } from '#insight/inquiry/finding.js';
import type { Inquiry } from '#insight/inquiry/inquiry.js';
import { whyElection } from '#insight/questions/controllers.js';
import { ageMs, conditionText, finding, specEvidence, statusEvidence } from '#insight/questions/parts.js';
import { question } from '#insight/questions/termination.js';

/** An approver may take this long. */
const approvalMs = 30_000;

export const whySigningRequest = question<CertificateSigningRequest>(
  'CertificateSigningRequest',
  (inquiry, request, subject) => signingFindings(inquiry, request, subject),
);

async function signingFindings(
  inquiry: Inquiry,
  request: CertificateSigningRequest,
  subject: Subject,
): Promise<readonly Finding[]> {
  const { conditions = [], certificate = '' } = request.status ?? {};
  const { signerName, username = '' } = request.spec;
  const denied = getCondition(conditions, 'Denied');
  const failed = getCondition(conditions, 'Failed');
  const evidence = [specEvidence('spec.signerName', signerName), specEvidence('spec.username', username)];
  const answer = (
    reason: string,
    summary: string,
    action: string,
    command?: string,
    causes: readonly Finding[] = [],
  ) => [
    finding({
      ...{ subject, reason, summary, causes },
      evidence: [
        ...evidence,
        denied && statusEvidence('conditions.Denied', conditionText(denied)),
        failed && statusEvidence('conditions.Failed', conditionText(failed)),
      ],
      remedies: [{ action, ...(command === undefined ? {} : { command }) }],
    }),
  ];
  if (denied !== undefined)
    return answer('RequestDenied', 'The request was denied.', 'Send another request that the approver accepts.');
  if (failed !== undefined)
    return answer(
      'SigningFailed',
      'The signer could not sign the request.',
      'Correct what the message names, and send another request.',
    );
  if (certificate !== '') return [];
  if (ageMs(request.metadata.creationTimestamp, inquiry.nowMs) < approvalMs) return [];
  const { signers, components } = inquiry.dialect;
  if (getCondition(conditions, 'Approved') === undefined) {
    const isServing = signerName === signers.nodeAgentServing;
    return answer(
      'WaitsForApproval',
      isServing
        ? "The request waits for an approval: certificates of node agents' servers are never approved automatically."
        : 'The request waits for an approval.',
      'Approve it, if you know who sent it.',
      `certificate approve ${subject.name}`,
    );
  }
  const own: readonly string[] = Object.values(signers);
  const isReserved = signerName.startsWith(`${inquiry.dialect.labelDomain}/`);
  if (isReserved && !own.includes(signerName))
    return answer(
      'SignerUnknown',
      `No signer has the name ${signerName}.`,
      `Send another request, for one of the signers of the cluster: ${own.join(', ')}.`,
    );
  const causes = own.includes(signerName) ? await whyElection(inquiry, components.controllerManager) : [];
  return answer(
    'SignerSilent',
    `Signer ${signerName} has not signed the approved request.`,
    own.includes(signerName)
      ? `Check that ${components.controllerManager} runs, and has a certificate and key for this signer.`
      : `Check that signer ${signerName} runs.`,
    undefined,
    causes,
  );
}
