/** How much more than others the cluster's own users may use of a busy API server. */
import type { Dialect } from '#apimachinery/dialect.js';
import type { WeightOf } from '#http/server/accounts.js';

/** Administrators act when all others are too many; the rest keeps the cluster running. */
const weights = { administrator: 100, component: 50, systemAccount: 20, node: 10 } as const;

export function weightsOf({ users, groups: { masters, nodes, serviceAccounts }, namespaces }: Dialect): WeightOf {
  const components = new Set<string>([users.controllerManager, users.scheduler, users.apiServer]);
  const systemAccounts = `${serviceAccounts}:${namespaces.system}`;
  return (user, groups) => {
    if (groups.includes(masters)) return weights.administrator;
    if (components.has(user)) return weights.component;
    if (groups.includes(systemAccounts)) return weights.systemAccount;
    return groups.includes(nodes) ? weights.node : 1;
  };
}
