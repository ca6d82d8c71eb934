/** Under which name and addresses this machine is a node. */
import { hostname } from 'node:os';
import { SetupError } from '#cmd/orch/terminal/setup-error.js';
import { nodeIPErrors } from '#nodeagent/options/node-ip.js';

/** The host's name, in letters that names of nodes may have. */
export function machineNodeName(): string {
  const name = hostname()
    .toLowerCase()
    .replace(/[^a-z0-9.-]/g, '-')
    .replace(/^[^a-z0-9]+|[^a-z0-9]+$/g, '');
  return name === '' ? 'node-0' : name;
}

/** Throws a SetupError for what is not one address or one of each family. */
export function checkedNodeIPs(nodeIPs: readonly string[]): readonly string[] {
  const [message] = nodeIPErrors(nodeIPs);
  if (message !== undefined) throw new SetupError(message);
  return nodeIPs;
}
