/** The users of the cluster's own daemons. */
import type { Dialect } from '#apimachinery/dialect.js';

/** Whether the user is a daemon of the cluster, a node or a controller, as opposed to a client of the test. */
export function isOwnUser(name: string, { users, namespaces }: Dialect): boolean {
  const { apiServer, aggregator, scheduler, controllerManager, ingress, serviceProxy, nodePrefix } = users;
  if ([apiServer, aggregator, scheduler, controllerManager, ingress, serviceProxy].includes(name)) return true;
  return name.startsWith(nodePrefix) || name.startsWith(`system:serviceaccount:${namespaces.system}:`);
}
