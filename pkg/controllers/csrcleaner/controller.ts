/** Deletes certificate signing requests that are of no more use; looks at all of them once an hour. */
import { certificatesigningrequests as requestType } from '#api/certificates/v1/resources.gen.js';
import type { CertificateSigningRequest } from '#api/certificates/v1/types.gen.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import type { Informer } from '#client/informer/informer.js';
import { reasonToClean } from '#controllers/csrcleaner/plan.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import { cachesSynced } from '#controllers/framework/loop.js';
import type { Logger } from '#daemon/log/logger.js';

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
      await this.#context.clock.sleep(intervalMs, signal);
    }
  }

  /** What fails is tried again in an hour. */
  async #clean(request: CertificateSigningRequest): Promise<void> {
    const { client, clock } = this.#context;
    const { name = '', uid = '' } = request.metadata;
    try {
      const reason = reasonToClean(request, clock.now());
      if (reason === undefined) return;
      this.#log.info({ name, reason }, 'Cleaning certificate signing request');
      await client.resource(requestType).delete(name, { preconditions: { uid } });
    } catch (error) {
      if (!isNotFound(error)) this.#log.error({ name, err: error }, 'Cleaning a certificate signing request failed');
    }
  }
}
