/** What the controllers of certificate signing requests share: their queue, its pauses, and how they write. */
import { certificatesigningrequests as requestType } from '#api/certificates/v1/resources.gen.js';
import type { CertificateSigningRequest } from '#api/certificates/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { Informer } from '#client/informer/informer.js';
import type { Outcome } from '#client/workqueue/outcome.js';
import { defaultControllerRateLimiter, type RateLimiter } from '#client/workqueue/rate-limiter.js';
import type { ControllerContext } from '#controllers/framework/context.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';
import type { Logger } from '#daemon/log/logger.js';

/** Queue of all controllers that decide about requests and sign them, as in 1.24. */
const queueName = 'certificate';
/** Requests worked on at once, as in 1.24, which has no option for it. */
const concurrency = 5;
/** First pause after a failure, in milliseconds. */
const firstRetryMs = 200;

export interface RequestLoopOptions {
  readonly name: string;
  /** `request` is undefined when it is gone. */
  readonly reconcile: (name: string, request: CertificateSigningRequest | undefined) => Promise<Outcome>;
}

export class RequestLoop {
  readonly log: Logger;
  readonly #context: ControllerContext;
  readonly #requests: Informer<CertificateSigningRequest>;
  readonly #loop: ReconcileLoop;

  constructor(context: ControllerContext, { name, reconcile }: RequestLoopOptions) {
    this.#context = context;
    this.#requests = sharedInformer(context.informers, requestType);
    this.#loop = new ReconcileLoop(context, {
      name,
      queueName,
      concurrency,
      rateLimiter: requestRateLimiter(context.clock),
      reconcile: (key) => reconcile(key, this.#requests.get(key)),
    });
    this.log = this.#loop.log;
  }

  async run(signal: AbortSignal): Promise<void> {
    const add = (request: CertificateSigningRequest) => this.#loop.queue.add(keyOf(request));
    await this.#loop.run(signal, [this.#requests.addHandler({ onAdd: add, onUpdate: add, onDelete: add })]);
  }

  /** Nothing is left to do for a request that is gone. Throws what else the API server answers. */
  async write(request: CertificateSigningRequest, subresource: 'approval' | 'status'): Promise<void> {
    try {
      const written = await this.#context.client.resource(requestType).update(request, { subresource });
      this.#loop.written.wrote(keyOf(request), this.#requests, written);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

export function requestRateLimiter(clock: Clock): RateLimiter<string> {
  return defaultControllerRateLimiter(clock, firstRetryMs);
}
