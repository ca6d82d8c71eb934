/** Approves what nodes ask for themselves, when whoever asks has the right to it. */
import { subjectaccessreviews } from '#api/authorization/v1/resources.gen.js';
import { certificatesigningrequests as requestType } from '#api/certificates/v1/resources.gen.js';
import type { CertificateSigningRequest } from '#api/certificates/v1/types.gen.js';
import { nodes as nodeType } from '#api/core/v1/resources.gen.js';
import type { Node } from '#api/core/v1/types.gen.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome, requeueAfter } from '#client/workqueue/outcome.js';
import { defaultControllerRateLimiter, type RateLimiter } from '#client/workqueue/rate-limiter.js';
import { certificateConcurrency, certificateQueue, firstRetryMs } from '#controllers/certificates/requests.js';
import { type Approval, possibleApprovals, servingNamesProblem } from '#controllers/csrapproving/plan.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';

export class CSRApprovingController implements Controller {
  readonly name = 'csrapproving';
  readonly #context: ControllerContext;
  readonly #requests: Informer<CertificateSigningRequest>;
  readonly #nodes: Informer<Node>;
  readonly #loop: ReconcileLoop;
  /** When to ask again for those who had no right: it may be given to them. No failure, so it has pauses of its own. */
  readonly #refused: RateLimiter<string>;

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#requests = sharedInformer(context.informers, requestType);
    this.#nodes = sharedInformer(context.informers, nodeType);
    this.#refused = defaultControllerRateLimiter(context.clock, firstRetryMs);
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
    const request = this.#requests.get(name);
    const approvals = request === undefined ? [] : possibleApprovals(this.#context.dialect, request);
    if (request === undefined || approvals.length === 0) {
      this.#refused.forget(name);
      return done;
    }
    for (const approval of approvals) {
      if (!(await this.#mayHave(request, approval))) continue;
      await this.#approve(request, approval);
      return done;
    }
    const tried = approvals.map(({ subresource }) => subresource);
    this.#loop.log.debug({ name, tried }, 'Request recognized, but subject access review was not approved');
    return requeueAfter(this.#refused.whenMs(name));
  }

  /** Whether those who ask may have such requests approved. */
  async #mayHave(request: CertificateSigningRequest, { subresource }: Approval): Promise<boolean> {
    const { client, dialect } = this.#context;
    const { metadata, spec } = request;
    if (subresource === 'selfnodeserving') {
      // A node that has just come, or got an address, may be better known in a moment.
      const problem = servingNamesProblem(dialect, request, this.#nodes.list());
      if (problem !== undefined) {
        this.#loop.log.debug({ name: metadata.name, problem }, 'No serving certificate for these names');
        return false;
      }
    }
    const { username, uid, groups, extra } = spec;
    const review = await client.resource(subjectaccessreviews).create({
      metadata: {},
      spec: {
        ...(username === undefined ? {} : { user: username }),
        ...(uid === undefined ? {} : { uid }),
        ...(groups === undefined ? {} : { groups }),
        ...(extra === undefined ? {} : { extra }),
        resourceAttributes: {
          group: dialect.groupName(requestType.group),
          resource: requestType.resource,
          verb: 'create',
          subresource,
        },
      },
    });
    return review.status?.allowed === true;
  }

  async #approve(request: CertificateSigningRequest, { message }: Approval): Promise<void> {
    const condition = { type: 'Approved', status: 'True', reason: 'AutoApproved', message };
    const { status } = request;
    const approved = { ...request, status: { ...status, conditions: [...(status?.conditions ?? []), condition] } };
    try {
      const written = await this.#context.client.resource(requestType).update(approved, { subresource: 'approval' });
      this.#loop.written.wrote(keyOf(request), this.#requests, written);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}
