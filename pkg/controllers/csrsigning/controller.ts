/** Signs approved requests for the cluster's own signers. */
import { certificatesigningrequests as requestType } from '#api/certificates/v1/resources.gen.js';
import type { CertificateSigningRequest } from '#api/certificates/v1/types.gen.js';
import { readCertificateRequest } from '#apimachinery/asn1/pkcs10.js';
import { formatTime, processClock } from '#apimachinery/clock.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome } from '#client/workqueue/outcome.js';
import { defaultControllerRateLimiter } from '#client/workqueue/rate-limiter.js';
import { certificateConcurrency, certificateQueue, firstRetryMs } from '#controllers/certificates/requests.js';
import { planSigning, type Signer, usagesOf, validityOf } from '#controllers/csrsigning/plan.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';
import { certify, type KeyCertificate } from '#pki/certificate.js';
import { certifiedName } from '#pki/distinguished-name.js';
import { readAuthority } from '#pki/x509.js';

/** Authorities by signer. They are read for every certificate, so that they can be replaced at run time. */
export type SigningAuthorities = Readonly<Partial<Record<Signer, () => Promise<KeyCertificate>>>>;

export interface CSRSigningOptions {
  /** Requests for signers without an authority are ignored. */
  readonly authorities: SigningAuthorities;
  /** The maximum lifetime of certificates. */
  readonly maxDurationMs: number;
}

export class CSRSigningController implements Controller {
  readonly name = 'csrsigning';
  readonly #context: ControllerContext;
  readonly #options: CSRSigningOptions;
  readonly #requests: Informer<CertificateSigningRequest>;
  readonly #loop: ReconcileLoop;

  constructor(context: ControllerContext, options: CSRSigningOptions) {
    this.#context = context;
    this.#options = options;
    this.#requests = sharedInformer(context.informers, requestType);
    this.#loop = new ReconcileLoop(context, {
      name: this.name,
      queueName: certificateQueue,
      concurrency: certificateConcurrency,
      rateLimiter: defaultControllerRateLimiter(context.clock, firstRetryMs),
      reconcile: (name) => this.#reconcile(name),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const add = (request: CertificateSigningRequest) => this.#loop.queue.add(keyOf(request));
    await this.#loop.run(signal, [this.#requests.addHandler({ onAdd: add, onUpdate: add, onDelete: add })]);
  }

  async #reconcile(name: string): Promise<Outcome> {
    const { dialect } = this.#context;
    const request = this.#requests.get(name);
    if (request === undefined) return done;
    const plan = planSigning(dialect, request);
    switch (plan.kind) {
      case 'ignore':
        return done;
      case 'fail':
        await this.#write(this.#failed(request, plan.message));
        return done;
      case 'sign': {
        const authority = this.#options.authorities[plan.signer];
        if (authority !== undefined) await this.#write(this.#issued(request, await authority()));
        return done;
      }
      default:
        plan satisfies never;
        return done;
    }
  }

  #failed(request: CertificateSigningRequest, message: string): CertificateSigningRequest {
    const condition = {
      type: 'Failed',
      status: 'True',
      reason: 'SignerValidationFailure',
      message,
      lastUpdateTime: formatTime(this.#context.clock.now()),
    };
    const { status } = request;
    return { ...request, status: { ...status, conditions: [...(status?.conditions ?? []), condition] } };
  }

  #issued(request: CertificateSigningRequest, authority: KeyCertificate): CertificateSigningRequest {
    const { subject, publicKey, names } = readCertificateRequest(request.spec.request);
    const validity = validityOf(request, {
      maxMs: this.#options.maxDurationMs,
      signerNotAfter: readAuthority(authority.certificate).notAfter,
      // TLS compares the validity with the time of the machine.
      now: processClock(this.#context.clock).now(),
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

  async #write(request: CertificateSigningRequest): Promise<void> {
    try {
      const written = await this.#context.client.resource(requestType).updateStatus(request);
      this.#loop.written.wrote(keyOf(request), this.#requests, written);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}
