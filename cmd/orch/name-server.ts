/** Where the pods of a cluster ask for names. All its nodes are this machine, so one server answers them all. */
import { readFileSync, rmSync } from 'node:fs';
import type { NodeDnsArguments } from '#cmd/orch/arguments.js';
import { keptForPods } from '#cmd/orch/context/closable.js';
import type { ClusterContext } from '#cmd/orch/context/cluster-context.js';
import type { Layout } from '#cmd/orch/context/layout.js';
import { replaceFile } from '#cmd/orch/process/replace-file.js';
import { LocalAddresses, runProgram } from '#dns/local-addresses.js';
import { parseResolvConf } from '#nodeagent/environment/dns.js';

/**
 * Link-local: no network has them, and no packet for them leaves the machine. Not those at which it asks for names itself:
 * in a pod of another cluster one of these is that cluster's name server.
 */
function* candidates(asked: readonly string[]): Generator<string> {
  for (let last = 10; last < 250; last++) {
    const address = `169.254.20.${last}`;
    if (!asked.includes(address)) yield address;
  }
}

/** Name servers of the machine; none where it has no such file. */
function askedServers(): readonly string[] {
  try {
    return parseResolvConf(readFileSync('/etc/resolv.conf', 'utf8')).servers;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

const localAddresses = (): LocalAddresses => new LocalAddresses(runProgram);

/** What the node agents are told, by their places; undefined: their pods ask the machine's resolvers. */
export type NameServer = (place: number) => NodeDnsArguments | undefined;

/** Takes an address for it that no other cluster of this machine has; `orch down` gives it back. */
export async function setUpNameServer(context: ClusterContext): Promise<NameServer> {
  const { start, settings, layout, log, running } = context;
  if (start.clusterDns !== 'built-in') {
    const server = start.clusterDns;
    return () => (server === 'none' ? undefined : { server, isOwn: false });
  }
  // Simulated containers ask nobody.
  if (settings.runtime === 'simulated') return () => undefined;
  try {
    const left = heldAddress(layout);
    const isLeft = left !== undefined && (await localAddresses().has(left));
    const server = isLeft ? left : await localAddresses().claim(candidates(askedServers()));
    if (server === undefined) throw new Error('every address for one is taken');
    running.push(keptForPods('address of the name server', () => releaseNameServer(layout)));
    replaceFile(layout.dnsAddress, server);
    return (place) => ({ server, isOwn: place === 0 });
  } catch (error) {
    log.warn({ err: error }, 'pods cannot ask for names of the cluster');
    return () => undefined;
  }
}

/** Gives the address back, also one that an end by force has left. */
export async function releaseNameServer(layout: Layout): Promise<void> {
  const address = heldAddress(layout);
  if (address === undefined) return;
  await localAddresses().release(address);
  rmSync(layout.dnsAddress, { force: true });
}

function heldAddress(layout: Layout): string | undefined {
  try {
    return readFileSync(layout.dnsAddress, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
