/** The authorization step of the pipeline. */
import { andThen, type MaybePromise } from '#apimachinery/async/steps.js';
import { forbidden } from '#apimachinery/errors/status.js';
import type {
  AuthorizationAttributes,
  AuthorizationDecision,
  Authorizer,
} from '#apiserver/authorization/authorizer.js';
import type { UserInfo } from '#apiserver/http/exchange.js';
import type { RequestInfo } from '#apiserver/http/request-info.js';

export function attributesOf(info: RequestInfo, user: UserInfo): AuthorizationAttributes {
  return {
    user,
    verb: info.verb,
    resourceRequest: info.resourceRequest,
    group: info.group,
    version: info.version,
    resource: info.resource,
    subresource: info.subresource,
    namespace: info.namespace,
    name: info.name,
    path: info.path,
  };
}

/**
 * Throws 403 unless the authorizer allows it, or rejects with it where that takes a while to find out. `told` hears the
 * answer first.
 */
export function authorize(
  authorizer: Authorizer,
  attributes: AuthorizationAttributes,
  told?: (answer: AuthorizationDecision) => void,
): MaybePromise<void> {
  return andThen(authorizer.authorize(attributes), (answer) => {
    told?.(answer);
    requireAllowed(answer, attributes);
  });
}

function requireAllowed(answer: AuthorizationDecision, attributes: AuthorizationAttributes): void {
  if (answer.decision === 'allow') return;
  const why = answer.reason === '' ? denial(attributes) : `${denial(attributes)}: ${answer.reason}`;
  throw forbidden({ group: attributes.group, resource: attributes.resource }, attributes.name, why);
}

/** Who cannot do what, in the words of 1.24. */
function denial(a: AuthorizationAttributes): string {
  const who = `User ${JSON.stringify(a.user.name)} cannot ${a.verb}`;
  if (!a.resourceRequest) return `${who} path ${JSON.stringify(a.path)}`;
  const resource = a.subresource === '' ? a.resource : `${a.resource}/${a.subresource}`;
  const where = a.namespace === '' ? 'at the cluster scope' : `in the namespace ${JSON.stringify(a.namespace)}`;
  return `${who} resource ${JSON.stringify(resource)} in API group ${JSON.stringify(a.group)} ${where}`;
}
