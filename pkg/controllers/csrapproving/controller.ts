/** Approves certificate requests of nodes when the requester is authorized. */
import { subjectaccessreviews } from '#api/authorization/v1/resources.gen.js';
import { certificatesigningrequests as requestType } from '#api/certificates/v1/resources.gen.js';
import type { CertificateSigningRequest } from '#api/certificates/v1/types.gen.js';
import { nodes as nodeType } from '#api/core/v1/resources.gen.js';
import type { Node } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import { canonicalAddress, formatAddress } from '#apimachinery/net/ip.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome, requeueAfter } from '#client/workqueue/outcome.js';
import { defaultControllerRateLimiter, type RateLimiter } from '#client/workqueue/rate-limiter.js';
import { notForNodeClient, notForNodeServing } from '#controllers/certificates/node-requests.js';
import {
  certificateConcurrency,
  certificateQueue,
  firstRetryMs,
  isDecided,
  isIssued,
  readRequestedCertificate,
} from '#controllers/certificates/requests.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';

export class CSRApprovingController implements Controller {
  readonly name = 'csrapproving';
  readonly #context: ControllerContext;
  readonly #requests: Informer<CertificateSigningRequest>;
  readonly #nodes: Informer<Node>;
  readonly #loop: ReconcileLoop;
  /** Delays before unauthorized requests are checked again. Not a failure, so separate from the queue's limiter. */
  readonly #unauthorized: RateLimiter<string>;

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#requests = sharedInformer(context.informers, requestType);
    this.#nodes = sharedInformer(context.informers, nodeType);
    this.#unauthorized = defaultControllerRateLimiter(context.clock, firstRetryMs);
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
      this.#unauthorized.forget(name);
      return done;
    }
    for (const approval of approvals) {
      if (!(await this.#isAuthorized(request, approval))) continue;
      await this.#approve(request, approval);
      return done;
    }
    const subresources = approvals.map(({ subresource }) => subresource);
    this.#loop.log.debug({ name, subresources }, 'access review denied the approval of a certificate request');
    return requeueAfter(this.#unauthorized.whenMs(name));
  }

  /** Whether the requester is authorized for the approval. */
  async #isAuthorized(request: CertificateSigningRequest, { subresource }: Approval): Promise<boolean> {
    const { client, dialect } = this.#context;
    const { metadata, spec } = request;
    if (subresource === 'selfnodeserving') {
      // The cache may not show a new node or address yet, so this is not final.
      const problem = servingNamesProblem(dialect, request, this.#nodes.list());
      if (problem !== undefined) {
        this.#loop.log.debug({ name: metadata.name, problem }, 'names do not match the node');
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

export interface Approval {
  /** The subresource of certificatesigningrequests that the requester must be allowed to create. */
  readonly subresource: 'selfnodeclient' | 'nodeclient' | 'selfnodeserving';
  readonly message: string;
}

/** The approvals that fit the request, the most specific first. Throws for a malformed request. */
export function possibleApprovals(dialect: Dialect, request: CertificateSigningRequest): Approval[] {
  const { spec } = request;
  if (isIssued(request) || isDecided(request)) return [];
  if (spec.signerName === dialect.signers.nodeAgentServing) return servingApprovals(dialect, request);
  if (spec.signerName !== dialect.signers.apiServerClientNodeAgent) return [];
  const requested = readRequestedCertificate(request);
  if (notForNodeClient(dialect, requested) !== undefined) return [];
  const { nodeAgent } = dialect.components;
  const any: Approval = {
    subresource: 'nodeclient',
    message: `Auto approving ${nodeAgent} client certificate after SubjectAccessReview.`,
  };
  if (spec.username !== requested.subject.commonName) return [any];
  const own: Approval = {
    subresource: 'selfnodeclient',
    message: `Auto approving self ${nodeAgent} client certificate after SubjectAccessReview.`,
  };
  return [own, any];
}

/**
 * Release 1.24 does not approve serving certificates. Here no user has this right by default, and it applies only to a
 * node's own certificate.
 */
function servingApprovals(dialect: Dialect, request: CertificateSigningRequest): Approval[] {
  const requested = readRequestedCertificate(request);
  if (notForNodeServing(dialect, requested) !== undefined) return [];
  if (request.spec.username !== requested.subject.commonName) return [];
  const { nodeAgent } = dialect.components;
  const message = `Auto approving self ${nodeAgent} serving certificate after SubjectAccessReview.`;
  return [{ subresource: 'selfnodeserving', message }];
}

/**
 * Checks that the requested names are the node's name and addresses, and not those of another node. Returns the problem,
 * or undefined. Throws for a malformed request.
 */
export function servingNamesProblem(
  dialect: Dialect,
  request: CertificateSigningRequest,
  nodes: readonly Node[],
): string | undefined {
  const { names, subject } = readRequestedCertificate(request);
  const nodeName = subject.commonName.slice(dialect.users.nodePrefix.length);
  const node = nodes.find(({ metadata }) => metadata.name === nodeName);
  if (node === undefined) return `there is no node ${nodeName}`;
  const own = addressesOf(node);
  const dns = names.dns.find((name) => name !== nodeName && !own.has(name));
  if (dns !== undefined) return `${dns} is not a name of the node`;
  const ips = names.ips.map(formatAddress);
  const foreign = ips.find((ip) => !own.has(ip));
  if (foreign !== undefined) return `${foreign} is not an address of the node`;
  for (const other of nodes) {
    if (other === node) continue;
    const others = addressesOf(other);
    const shared = [...ips, ...names.dns].find((name) => others.has(name) || name === other.metadata.name);
    if (shared !== undefined) return `${shared} is also an address of the node ${other.metadata.name}`;
  }
  return undefined;
}

function addressesOf({ status }: Node): Set<string> {
  return new Set((status?.addresses ?? []).map(({ address }) => canonicalAddress(address) ?? address));
}
