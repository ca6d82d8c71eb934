/**
 * Explanations in access reviews: a client that adds `?explain=true` to the POST of a review gets one in an annotation of the answer.
 * Other answers are those of 1.24.
 */
import type { Dialect } from '#apimachinery/dialect.js';
import type { AuthorizationAttributes, Authorizer } from '#apiserver/authorization/authorizer.js';
import { type AccessExplanation, explainAccess } from '#apiserver/authorization/explain/explanation.js';
import type { RbacIndex } from '#apiserver/authorization/rbac/rbac-index.js';
import type { UserInfo } from '#apiserver/http/exchange.js';

export interface ReviewExplainerOptions {
  readonly dialect: Dialect;
  readonly authorizer: Authorizer;
  readonly index: RbacIndex;
}

export class ReviewExplainer {
  readonly #options: ReviewExplainerOptions;

  constructor(options: ReviewExplainerOptions) {
    this.#options = options;
  }

  /** Annotations of the answer. */
  async annotations(request: AuthorizationAttributes, client: UserInfo): Promise<Readonly<Record<string, string>>> {
    const { dialect } = this.#options;
    const { mayRead: _mayRead, ...explanation } = await this.explanation(request, client);
    return { [`authorization.${dialect.labelDomain}/explanation`]: JSON.stringify(explanation) };
  }

  /** Only a client that may list all roles and bindings learns of bindings. */
  async explanation(
    request: AuthorizationAttributes,
    client: UserInfo,
  ): Promise<AccessExplanation & { readonly mayRead: boolean }> {
    const { dialect, index } = this.#options;
    const mayRead = await this.#mayRead(client);
    return { ...explainAccess(request, mayRead ? index.objects() : undefined, dialect), mayRead };
  }

  async #mayRead(user: UserInfo): Promise<boolean> {
    const { dialect, authorizer } = this.#options;
    const group = dialect.groupName('rbac');
    for (const resource of ['roles', 'rolebindings', 'clusterroles', 'clusterrolebindings']) {
      const own = { user, verb: 'list', resourceRequest: true, group, version: 'v1', resource, subresource: '' };
      const { decision } = await authorizer.authorize({ ...own, namespace: '', name: '', path: '' });
      if (decision !== 'allow') return false;
    }
    return true;
  }
}
