/**
 * `POST /apis/insight.orch.io/v1alpha1/whys`: why an object is stuck, or a request is refused. The answer is made from what the
 * client may read, so every authenticated user may ask. Discovery and OpenAPI do not name it: they stay those of 1.24.
 */
import { deadline } from '#apimachinery/async/deadline.js';
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { badRequest, forbidden, methodNotAllowed, notFound, pathNotFound } from '#apimachinery/errors/status.js';
import { authorize } from '#apiserver/authorization/authorize.js';
import type { AuthorizationAttributes, Authorizer } from '#apiserver/authorization/authorizer.js';
import type { ReviewExplainer } from '#apiserver/authorization/explain/review-explainer.js';
import type { ApiHandler, ApiResponse, UserInfo } from '#apiserver/http/exchange.js';
import type { RequestContext } from '#apiserver/http/request-context.js';
import type { RequestInfo } from '#apiserver/http/request-info.js';
import { CachedObservations } from '#apiserver/insight/cached-observations.js';
import { readLogTail } from '#apiserver/insight/log-tail.js';
import { parseWhy, type QuestionAccess, type QuestionTarget } from '#apiserver/insight/why-body.js';
import type { Responder } from '#apiserver/representation/respond.js';
import type { ResourceTable } from '#apiserver/resources/resource-table.js';
import { checkName, type ServedResource } from '#apiserver/resources/served-resource.js';
import type { Answer } from '#insight/inquiry/finding.js';
import { Unreadable } from '#insight/inquiry/observations.js';
import { whyRequest } from '#insight/questions/access.js';
import { readTypeOf, why } from '#insight/why.js';

export interface WhyEndpointOptions {
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly authorizer: Authorizer;
  /** Absent where roles do not decide. */
  readonly explainer: ReviewExplainer | undefined;
  readonly resources: Pick<ResourceTable, 'find' | 'all'>;
  readonly turns: Pick<TurnQueue, 'pause'>;
  readonly responder: Responder;
  /** This server, for the logs of containers. */
  readonly handler: () => ApiHandler;
}

/** Longest time for the last lines of a container: the answer is worth more than they are. */
const logMs = 1000;

const resourceName = 'whys';

export class WhyEndpoint {
  readonly #options: WhyEndpointOptions;

  constructor(options: WhyEndpointOptions) {
    this.#options = options;
  }

  async serve(context: RequestContext): Promise<ApiResponse> {
    const { dialect, responder } = this.#options;
    const { info, request } = context;
    const { group, apiVersion } = dialect.insight;
    if (!isQuestion(dialect, info) || info.address.broken) throw pathNotFound();
    if (info.verb !== 'create') throw methodNotAllowed({ group, resource: resourceName }, info.verb);
    const form = responder.negotiate(context, [], ['json', 'yaml']);
    const spec = parseWhy(request.body, apiVersion);
    const answer =
      spec.subject === undefined ? await this.#access(context, spec.access) : await this.#object(context, spec.subject);
    return responder.object(context, { kind: 'Why', apiVersion, metadata: {}, spec, status: answer }, 201, form);
  }

  async #object(context: RequestContext, target: QuestionTarget): Promise<Answer> {
    const { dialect } = this.#options;
    const resource = this.#resourceOf(target);
    const { kind, name, namespace = '' } = target;
    checkName(name);
    const { namespaced } = resource.declaration;
    if (namespaced && namespace === '') throw badRequest('spec.subject.namespace: must be set');
    if (namespaced) checkName(namespace);
    else if (namespace !== '') throw badRequest(`spec.subject.namespace: objects of kind ${kind} have none`);
    const observations = this.#observations(context);
    try {
      const object = await observations.read(resource, name, namespace);
      if (object === undefined) throw notFound(resource.qualified, name);
      return await why(dialect, observations, kind, { ...object, kind });
    } catch (error) {
      // Only the object itself: what else may not be read is named in the answer.
      if (error instanceof Unreadable) throw this.#refusal(context, resource, target);
      throw error;
    }
  }

  #refusal({ user }: RequestContext, { qualified }: ServedResource, { namespace, name }: QuestionTarget) {
    const where = namespace === undefined ? 'at the cluster scope' : `in the namespace ${JSON.stringify(namespace)}`;
    return forbidden(qualified, name, `User ${JSON.stringify(user.name)} cannot get it ${where}`);
  }

  #observations({ user, signal }: RequestContext): CachedObservations {
    const { dialect, clock, authorizer, resources, turns, handler } = this.#options;
    return new CachedObservations({
      ...{ dialect, authorizer, resources, turns, user, signal, nowMs: clock.now() },
      logTail: async (pod, container, previous) => {
        const limit = deadline(clock, logMs, signal);
        try {
          return await readLogTail({ handler: handler(), user, signal: limit.signal }, pod, container, previous);
        } finally {
          limit.release();
        }
      },
    });
  }

  /** In the version that the question about the kind reads. Throws 400 for a kind that is not served. */
  #resourceOf({ kind, apiVersion }: QuestionTarget): ServedResource {
    const { dialect, resources } = this.#options;
    const type = readTypeOf(kind);
    const read = type && resources.find(dialect.groupName(type.group), type.version, type.resource);
    const group = apiVersion?.includes('/') === true ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';
    if (read !== undefined && (apiVersion === undefined || read.group === group)) return read;
    const served = resources
      .all()
      .find(
        ({ declaration, ...each }) =>
          declaration.kind === kind &&
          declaration.verbs.includes('get') &&
          (apiVersion === undefined || each.apiVersion === apiVersion),
      );
    if (served === undefined) throw badRequest(`spec.subject.kind: no kind ${JSON.stringify(kind)} is served`);
    return served;
  }

  async #access(context: RequestContext, target: QuestionAccess): Promise<Answer> {
    const { authorizer, explainer } = this.#options;
    const user = await this.#userOf(context, target);
    const { verb, group = '', resource = '', subresource = '', namespace = '', name = '', path = '' } = target;
    const request = { verb, group, resource, subresource, namespace, name, path, resourceRequest: path === '' };
    const attributes: AuthorizationAttributes = { ...request, user, version: '*' };
    const { decision, reason, error } = await authorizer.authorize(attributes);
    const allowed = decision === 'allow';
    const explained = allowed ? undefined : await explainer?.explanation(attributes, context.user);
    const { nearest, grant, mayRead = true } = explained ?? {};
    return whyRequest({
      ...{ user: user.name, request, allowed, denied: decision === 'deny', reason, error, nearest },
      grant: grant && [grant.role, grant.binding],
      unreadable: mayRead ? [] : ['clusterrolebindings', 'rolebindings'],
    });
  }

  /** Asking about others takes the right to review their access. Throws 403. */
  async #userOf({ user: own }: RequestContext, { user: name, groups = [] }: QuestionAccess): Promise<UserInfo> {
    if (name === undefined || (name === own.name && groups.length === 0)) return own;
    const { authorizer, dialect } = this.#options;
    await authorize(authorizer, {
      ...{ user: own, verb: 'create', resourceRequest: true, group: dialect.groupName('authorization'), version: 'v1' },
      ...{ resource: 'subjectaccessreviews', subresource: '', namespace: '', name: '', path: '' },
    });
    const implied = name === dialect.users.anonymous ? dialect.groups.unauthenticated : dialect.groups.authenticated;
    return { name, groups: groups.includes(implied) ? groups : [...groups, implied] };
  }
}

/** True for requests that go to the endpoint. */
export function isQuestion(
  dialect: Dialect,
  { group, version, resource, name, subresource, namespace }: RequestInfo,
): boolean {
  const { insight } = dialect;
  if (group !== insight.group || version !== insight.version || resource !== resourceName) return false;
  return name === '' && subresource === '' && namespace === '';
}
