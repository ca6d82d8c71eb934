/** Approves what nodes ask for themselves, when whoever asks has the right to it. */
import { subjectaccessreviews } from '#api/authorization/v1/resources.gen.js';
import { certificatesigningrequests as requestType } from '#api/certificates/v1/resources.gen.js';
import type { CertificateSigningRequest } from '#api/certificates/v1/types.gen.js';
import { done, type Outcome, requeueAfter } from '#client/workqueue/outcome.js';
import type { RateLimiter } from '#client/workqueue/rate-limiter.js';
import { RequestLoop, requestRateLimiter } from '#controllers/certificates/request-loop.js';
import { withCondition } from '#controllers/certificates/requests.js';
import { type Approval, possibleApprovals } from '#controllers/csrapproving/plan.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';

export class CSRApprovingController implements Controller {
  readonly name = 'csrapproving';
  readonly #context: ControllerContext;
  readonly #loop: RequestLoop;
  /** When to ask again for those who had no right: it may be given to them. No failure, so it has pauses of its own. */
  readonly #refused: RateLimiter<string>;

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#refused = requestRateLimiter(context.clock);
    this.#loop = new RequestLoop(context, {
      name: this.name,
      reconcile: (name, request) => this.#reconcile(name, request),
    });
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#loop.run(signal);
  }

  async #reconcile(name: string, request: CertificateSigningRequest | undefined): Promise<Outcome> {
    const approvals = request === undefined ? [] : possibleApprovals(this.#context.dialect, request);
    if (request === undefined || approvals.length === 0) {
      this.#refused.forget(name);
      return done;
    }
    for (const approval of approvals) {
      if (!(await this.#mayHave(request, approval))) continue;
      const { message } = approval;
      const condition = { type: 'Approved', status: 'True', reason: 'AutoApproved', message };
      await this.#loop.write(withCondition(request, condition), 'approval');
      return done;
    }
    const tried = approvals.map(({ subresource }) => subresource);
    this.#loop.log.debug({ name, tried }, 'Request recognized, but subject access review was not approved');
    return requeueAfter(this.#refused.whenMs(name));
  }

  /** Whether those who ask may have such requests approved. */
  async #mayHave({ spec }: CertificateSigningRequest, { subresource }: Approval): Promise<boolean> {
    const { client, dialect } = this.#context;
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
}
