/** Guards certificate signing requests: who may approve and sign for a signer, and which subjects are allowed. */

import type { CertificateSigningRequest } from '#api/certificates/v1/types.gen.js';
import { readCertificateRequest } from '#apimachinery/asn1/pkcs10.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { AdmissionAttributes, AdmissionPlugin } from '#apiserver/admission/admission.js';
import { concerns, refusal } from '#apiserver/admission/plugin.js';
import type { Authorizer } from '#apiserver/authorization/authorizer.js';
import { type DistinguishedName, decodeName } from '#pki/distinguished-name.js';

export interface SignerGuardOptions {
  readonly dialect: Dialect;
  readonly authorizer: Authorizer;
}

const resource = 'certificatesigningrequests';
const resources = [{ group: 'certificates', resource }] as const;

abstract class SignerGuard {
  readonly resources = resources;
  readonly #options: SignerGuardOptions;

  constructor(options: SignerGuardOptions) {
    this.#options = options;
  }

  /** Requires the verb for the signer, by its name or for its whole domain. Throws 403. */
  protected async requireRight(attributes: AdmissionAttributes, verb: 'approve' | 'sign'): Promise<void> {
    const { dialect, authorizer } = this.#options;
    const { signerName } = (attributes.oldObject as CertificateSigningRequest).spec;
    const domain = `${signerName.split('/')[0] ?? ''}/*`;
    for (const name of [signerName, domain]) {
      const answer = await authorizer.authorize({
        user: attributes.user,
        verb,
        resourceRequest: true,
        group: dialect.groupName('certificates'),
        version: '*',
        resource: 'signers',
        subresource: '',
        namespace: '',
        name,
        path: '',
      });
      if (answer.decision === 'allow') return;
    }
    const why = `user not permitted to ${verb} requests with signerName ${JSON.stringify(signerName)}`;
    throw refusal(attributes, dialect, why);
  }
}

export class CertificateApproval extends SignerGuard implements AdmissionPlugin {
  readonly name = 'CertificateApproval';

  handles(attributes: AdmissionAttributes): boolean {
    return attributes.operation === 'UPDATE' && concerns(attributes, 'certificates', resource, 'approval');
  }

  validate(attributes: AdmissionAttributes): Promise<void> {
    return this.requireRight(attributes, 'approve');
  }
}

export class CertificateSigning extends SignerGuard implements AdmissionPlugin {
  readonly name = 'CertificateSigning';

  handles(attributes: AdmissionAttributes): boolean {
    return attributes.operation === 'UPDATE' && concerns(attributes, 'certificates', resource, 'status');
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    const [object, old] = [attributes.object, attributes.oldObject] as CertificateSigningRequest[];
    const unchanged = object?.status?.certificate === old?.status?.certificate && failed(object) === failed(old);
    if (!unchanged) await this.requireRight(attributes, 'sign');
  }
}

function failed(request: CertificateSigningRequest | undefined): boolean {
  return (request?.status?.conditions ?? []).some((condition) => condition.type === 'Failed');
}

/** Refuses client certificates for the group that has all rights. */
export class CertificateSubjectRestriction implements AdmissionPlugin {
  readonly name = 'CertificateSubjectRestriction';
  readonly resources = resources;
  readonly #dialect: Dialect;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  handles(attributes: AdmissionAttributes): boolean {
    return attributes.operation === 'CREATE' && concerns(attributes, 'certificates', resource);
  }

  validate(attributes: AdmissionAttributes): void {
    const { spec } = attributes.object as CertificateSigningRequest;
    if (spec.signerName !== this.#dialect.signers.apiServerClient) return;
    let subject: DistinguishedName;
    try {
      subject = decodeName(readCertificateRequest(spec.request).subject);
    } catch (error) {
      throw refusal(attributes, this.#dialect, `unable to parse request: ${messageOf(error)}`);
    }
    const { masters } = this.#dialect.groups;
    if (subject.organizations.includes(masters))
      throw refusal(
        attributes,
        this.#dialect,
        `use of ${this.#dialect.signers.apiServerClient} signer with ${masters} group is not allowed`,
      );
  }
}
