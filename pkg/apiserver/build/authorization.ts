/** The authorizers of `--authorization-mode`. */
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import {
  AlwaysAllowAuthorizer,
  AlwaysDenyAuthorizer,
  PrivilegedGroupAuthorizer,
  UnionAuthorizer,
  WaitingAuthorizer,
} from '#apiserver/authorization/authorize.js';
import type { Authorizer } from '#apiserver/authorization/authorizer.js';
import { NodeAuthorizer } from '#apiserver/authorization/node/node-authorizer.js';
import { NodeGraph } from '#apiserver/authorization/node/node-graph.js';
import { RbacAuthorizer } from '#apiserver/authorization/rbac/rbac-authorizer.js';
import { RbacIndex } from '#apiserver/authorization/rbac/rbac-index.js';
import { nodeRules } from '#apiserver/bootstrap/cluster-roles.js';
import type { ObjectReader } from '#apiserver/objects/object-reader.js';
import { OptionsError } from '#daemon/options/option.js';

export interface AuthorizationParts {
  readonly authorizer: Authorizer;
  /** Present in the RBAC mode. */
  readonly rbac: { readonly index: RbacIndex; readonly authorizer: RbacAuthorizer } | undefined;
  /** Starts the authorizers' caches; resolves when they are filled. */
  start(signal: AbortSignal): Promise<void>;
}

/** The authorizers decide in the order of `modes`. Throws OptionsError. */
export function buildAuthorization(
  { dialect, reader, clock }: { readonly dialect: Dialect; readonly reader: ObjectReader; readonly clock: Clock },
  modes: readonly string[],
): AuthorizationParts {
  const members: Authorizer[] = [new PrivilegedGroupAuthorizer([dialect.groups.masters])];
  const starts: ((signal: AbortSignal) => Promise<void>)[] = [];
  let rbac: AuthorizationParts['rbac'];
  for (const mode of modes)
    switch (mode) {
      case 'AlwaysAllow':
        members.push(new AlwaysAllowAuthorizer());
        break;
      case 'AlwaysDeny':
        members.push(new AlwaysDenyAuthorizer());
        break;
      case 'Node': {
        const graph = new NodeGraph(dialect);
        starts.push((signal) => graph.start(reader, signal));
        members.push(new NodeAuthorizer({ dialect, graph, rules: nodeRules(dialect) }));
        break;
      }
      case 'RBAC': {
        const index = new RbacIndex();
        starts.push((signal) => index.start(reader, signal));
        rbac = { index, authorizer: new RbacAuthorizer(index, dialect) };
        members.push(rbac.authorizer);
        break;
      }
      default:
        throw new OptionsError([`authorization-mode ${mode} is not supported yet`]);
    }
  const authorizer = new WaitingAuthorizer({ authorizer: new UnionAuthorizer(members), clock });
  return {
    authorizer,
    rbac,
    start: async (signal) => {
      await Promise.all(starts.map((start) => start(signal)));
      authorizer.ready();
    },
  };
}
