/**
 * Allows each node agent to read the objects that the pods bound to its node need (secrets, config maps, claims, volumes and
 * tokens), to use its own lease and CSINode, and to do what the rules of all nodes allow.
 */
import type { PolicyRule } from '#api/rbac/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type {
  AuthorizationAttributes,
  AuthorizationDecision,
  Authorizer,
} from '#apiserver/authorization/authorizer.js';
import type { NeededResource, NodeGraph } from '#apiserver/authorization/node/node-graph.js';
import { nodeOf } from '#apiserver/authorization/node/node-identity.js';
import { ruleAllows } from '#apiserver/authorization/rbac/rule-match.js';
import { noRules, type ResolvedRules, type RuleResolver } from '#apiserver/authorization/rule-resolver.js';
import type { UserInfo } from '#apiserver/http/exchange.js';

export interface NodeAuthorizerOptions {
  readonly dialect: Dialect;
  readonly graph: NodeGraph;
  /** Rules of every node. */
  readonly rules: readonly PolicyRule[];
}

const allow: AuthorizationDecision = { decision: 'allow', reason: '' };
const none = (reason: string): AuthorizationDecision => ({ decision: 'noOpinion', reason });
const readVerbs = ['get', 'list', 'watch'];
const ownVerbs = ['get', 'create', 'update', 'patch', 'delete'];

export class NodeAuthorizer implements Authorizer, RuleResolver {
  readonly mode = 'Node';
  readonly #options: NodeAuthorizerOptions;

  constructor(options: NodeAuthorizerOptions) {
    this.#options = options;
  }

  authorize(attributes: AuthorizationAttributes): AuthorizationDecision {
    const node = nodeOf(attributes.user, this.#options.dialect);
    if (node === undefined) return none('');
    return node === ''
      ? none(`unknown node for user ${JSON.stringify(attributes.user.name)}`)
      : this.#decide(node, attributes);
  }

  /** The rights of a node depend on its pods. */
  rulesFor(user: UserInfo): ResolvedRules {
    if (nodeOf(user, this.#options.dialect) === undefined) return noRules;
    return { ...noRules, errors: ['node authorizer does not support user rule resolution'], incomplete: true };
  }

  #decide(node: string, a: AuthorizationAttributes): AuthorizationDecision {
    const { dialect, rules } = this.#options;
    if (a.resourceRequest) {
      switch (`${a.group}/${a.resource}`) {
        case '/secrets':
        case '/configmaps':
          return this.#readNeeded(node, a, a.resource as NeededResource);
        case '/persistentvolumeclaims':
          return this.#claim(node, a);
        case '/persistentvolumes':
          return this.#readOne(a, node, (name) => this.#options.graph.needsVolume(node, name));
        case `${dialect.groupName('storage')}/volumeattachments`:
          return this.#readOne(a, node, (name) => this.#options.graph.needsAttachment(node, name));
        case '/serviceaccounts':
          return this.#token(node, a);
        case `${dialect.groupName('coordination')}/leases`:
          return this.#lease(node, a);
        case `${dialect.groupName('storage')}/csinodes`:
          return ownObject(node, a, 'CSINode');
        default:
      }
    }
    return rules.some((rule) => ruleAllows(rule, a)) ? allow : none('');
  }

  #readNeeded(node: string, a: AuthorizationAttributes, resource: NeededResource): AuthorizationDecision {
    if (!readVerbs.includes(a.verb)) return none('can only read resources of this type');
    if (a.subresource !== '') return none('cannot read subresource');
    if (a.namespace === '') return none('can only read namespaced object of this type');
    if (a.name === '') return none('No Object name found');
    return this.#related(node, resource, a);
  }

  #related(node: string, resource: NeededResource, a: AuthorizationAttributes): AuthorizationDecision {
    return this.#options.graph.needs(node, resource, a.namespace, a.name) ? allow : unrelated(node);
  }

  #claim(node: string, a: AuthorizationAttributes): AuthorizationDecision {
    if (a.subresource !== 'status') {
      return this.#readOne(a, node, (name) =>
        this.#options.graph.needs(node, 'persistentvolumeclaims', a.namespace, name),
      );
    }
    if (a.verb !== 'update' && a.verb !== 'patch') return none('can only get/update/patch this type');
    return a.name === '' ? none('No Object name found') : this.#related(node, 'persistentvolumeclaims', a);
  }

  #readOne(a: AuthorizationAttributes, node: string, needs: (name: string) => boolean): AuthorizationDecision {
    if (a.verb !== 'get') return none('can only get individual resources of this type');
    if (a.subresource !== '') return none('cannot get subresource');
    if (a.name === '') return none('No Object name found');
    return needs(a.name) ? allow : unrelated(node);
  }

  #token(node: string, a: AuthorizationAttributes): AuthorizationDecision {
    if (a.verb !== 'create' || a.name === '') return none('can only create tokens for individual service accounts');
    if (a.subresource !== 'token') return none('can only create token subresource of serviceaccount');
    return this.#related(node, 'serviceaccounts', a);
  }

  #lease(node: string, a: AuthorizationAttributes): AuthorizationDecision {
    const namespace = this.#options.dialect.namespaces.nodeLease;
    if (a.namespace !== namespace) return none(`can only access leases in the "${namespace}" system namespace`);
    return ownObject(node, a, 'node lease');
  }
}

/** An object with the node's name. On create, admission checks the name. */
function ownObject(node: string, a: AuthorizationAttributes, what: string): AuthorizationDecision {
  if (!ownVerbs.includes(a.verb)) return none(`can only get, create, update, patch, or delete a ${what}`);
  if (a.subresource !== '') return none(`cannot authorize ${what} subresources`);
  if (a.verb !== 'create' && a.name !== node)
    return none(`can only access ${what} with the same name as the requesting node`);
  return allow;
}

function unrelated(node: string): AuthorizationDecision {
  return none(`no relationship found between node '${node}' and this object`);
}
