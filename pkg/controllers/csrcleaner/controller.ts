/** Deletes obsolete certificate signing requests once an hour. */
import { certificatesigningrequests as requestType } from '#api/certificates/v1/resources.gen.js';
import type { CertificateSigningRequest } from '#api/certificates/v1/types.gen.js';
import { certificatesInPem } from '#apimachinery/asn1/pem.js';
import { parseTime, upkeepClock } from '#apimachinery/clock.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import type { Informer } from '#client/informer/informer.js';
import { isIssued } from '#controllers/certificates/requests.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import { cachesSynced } from '#controllers/framework/loop.js';
import type { Logger } from '#daemon/log/logger.js';
import { certificateTimes } from '#pki/x509.js';

const intervalMs = 3600_000;

export class CSRCleanerController implements Controller {
  readonly name = 'csrcleaner';
  readonly #context: ControllerContext;
  readonly #requests: Informer<CertificateSigningRequest>;
  readonly #log: Logger;

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#requests = sharedInformer(context.informers, requestType);
    this.#log = context.log.child({ controller: this.name });
  }

  async run(signal: AbortSignal): Promise<void> {
    if (!(await cachesSynced(this.#context, signal))) return;
    while (!signal.aborted) {
      for (const request of this.#requests.list()) await this.#clean(request);
      await upkeepClock(this.#context.clock).sleep(intervalMs, signal);
    }
  }

  /** Failures are retried at the next interval. */
  async #clean(request: CertificateSigningRequest): Promise<void> {
    const { client, clock } = this.#context;
    const { name = '', uid = '' } = request.metadata;
    try {
      const reason = reasonToClean(request, clock.now());
      if (reason === undefined) return;
      this.#log.info({ name, reason }, 'deleting an obsolete certificate signing request');
      await client.resource(requestType).delete(name, { preconditions: { uid } });
    } catch (error) {
      if (!isNotFound(error)) this.#log.error({ name, err: error }, 'failed to delete a certificate signing request');
    }
  }
}

const hourMs = 3600_000;
/** Leaves time to fetch or inspect the result. */
const decidedMs = hourMs;
const pendingMs = 24 * hourMs;

/** Why the request is obsolete; undefined when it is not. Throws for a malformed certificate. */
export function reasonToClean(request: CertificateSigningRequest, nowMs: number): string | undefined {
  const { metadata, status } = request;
  const conditions = status?.conditions ?? [];
  const since = (type: string) => conditions.find((condition) => condition.type === type)?.lastUpdateTime;
  if (isIssued(request)) {
    const approved = conditions.some(({ type }) => type === 'Approved');
    if (approved && expiryMs(status?.certificate ?? '') < nowMs) return 'the certificate is expired';
    if (isOlder(since('Approved'), decidedMs, nowMs)) return 'approved and issued for more than an hour';
  }
  if (isOlder(since('Denied'), decidedMs, nowMs)) return 'denied for more than an hour';
  if (isOlder(since('Failed'), decidedMs, nowMs)) return 'failed for more than an hour';
  if (conditions.length === 0 && isOlder(metadata.creationTimestamp, pendingMs, nowMs)) {
    return 'unhandled for more than a day';
  }
  return undefined;
}

/** False without a time. */
function isOlder(time: string | undefined, ageMs: number, nowMs: number): boolean {
  return time !== undefined && time !== '' && nowMs - parseTime(time) > ageMs;
}

/** The expiry of the first certificate; `certificate` is PEM in base64. */
function expiryMs(certificate: string): number {
  const [der] = certificatesInPem(Buffer.from(certificate, 'base64').toString('latin1'));
  if (der === undefined) throw new Error('expected the certificate associated with the CSR to be PEM encoded');
  return certificateTimes(der).notAfter;
}
