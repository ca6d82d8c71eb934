/** Issues the certificates of approved requests to the cluster's own signers. */
import type { CertificateSigningRequest } from '#api/certificates/v1/types.gen.js';
import { readCertificateRequest } from '#apimachinery/asn1/pkcs10.js';
import { formatTime } from '#apimachinery/clock.js';
import { done, type Outcome } from '#client/workqueue/outcome.js';
import { RequestLoop } from '#controllers/certificates/request-loop.js';
import { withCondition } from '#controllers/certificates/requests.js';
import { planSigning, type Signer, usagesOf, validityOf } from '#controllers/csrsigning/plan.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { certify, type KeyCertificate } from '#pki/certificate.js';
import { certifiedName } from '#pki/distinguished-name.js';
import { readAuthority } from '#pki/x509.js';

/** Authorities by signer. Each is asked anew for every certificate, so that it may be replaced while the manager runs. */
export type SigningAuthorities = Readonly<Partial<Record<Signer, () => Promise<KeyCertificate>>>>;

export interface CSRSigningOptions {
  /** Signers without an authority leave their requests to others. */
  readonly authorities: SigningAuthorities;
  /** Longest lifetime of certificates. */
  readonly maxDurationMs: number;
}

export class CSRSigningController implements Controller {
  readonly name = 'csrsigning';
  readonly #context: ControllerContext;
  readonly #options: CSRSigningOptions;
  readonly #loop: RequestLoop;

  constructor(context: ControllerContext, options: CSRSigningOptions) {
    this.#context = context;
    this.#options = options;
    this.#loop = new RequestLoop(context, {
      name: this.name,
      reconcile: (_name, request) => this.#reconcile(request),
    });
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#loop.run(signal);
  }

  async #reconcile(request: CertificateSigningRequest | undefined): Promise<Outcome> {
    if (request === undefined) return done;
    const plan = planSigning(this.#context.dialect, request);
    switch (plan.kind) {
      case 'ignore':
        return done;
      case 'fail':
        await this.#loop.write(this.#failed(request, plan.message), 'status');
        return done;
      case 'sign': {
        const authority = this.#options.authorities[plan.signer];
        if (authority !== undefined) await this.#loop.write(this.#issued(request, await authority()), 'status');
        return done;
      }
      default:
        plan satisfies never;
        return done;
    }
  }

  #failed(request: CertificateSigningRequest, message: string): CertificateSigningRequest {
    return withCondition(request, {
      type: 'Failed',
      status: 'True',
      reason: 'SignerValidationFailure',
      message,
      lastUpdateTime: formatTime(this.#context.clock.now()),
    });
  }

  #issued(request: CertificateSigningRequest, authority: KeyCertificate): CertificateSigningRequest {
    const { subject, publicKey, names } = readCertificateRequest(request.spec.request);
    const validity = validityOf(request, {
      maxMs: this.#options.maxDurationMs,
      signerNotAfter: readAuthority(authority.certificate).notAfter,
      now: this.#context.clock.now(),
    });
    const certificate = certify(authority, {
      subject: certifiedName(subject),
      publicKey,
      ...usagesOf(request),
      alternatives: names.der,
      ...validity,
    });
    return { ...request, status: { ...request.status, certificate: Buffer.from(certificate).toString('base64') } };
  }
}
