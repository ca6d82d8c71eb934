/** Name and addresses of this machine as a node. */
import { hostname } from 'node:os';
import { SetupError } from '#cluster/terminal/setup-error.js';
import { nodeIPErrors } from '#nodeagent/options/identity-rules.js';

/** The host name, with characters that node names may have. */
export function machineNodeName(): string {
  const name = hostname()
    .toLowerCase()
    .replace(/[^a-z0-9.-]/g, '-')
    .replace(/^[^a-z0-9]+|[^a-z0-9]+$/g, '');
  return name === '' ? 'node-0' : name;
}

/** Throws a SetupError unless there is at most one address of each family. */
export function checkedNodeIPs(nodeIPs: readonly string[]): readonly string[] {
  const [message] = nodeIPErrors(nodeIPs);
  if (message !== undefined) throw new SetupError(message);
  return nodeIPs;
}
