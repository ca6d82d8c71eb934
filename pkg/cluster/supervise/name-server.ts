/** The address of the cluster's name server. All nodes of this machine share one server. */
import { readFileSync, rmSync } from 'node:fs';
import { type ClusterContext, keptForPods } from '#cluster/config/cluster-context.js';
import type { Layout } from '#cluster/config/layout.js';
import { replaceFile } from '#cluster/process/replace-file.js';
import type { NodeDnsArguments } from '#cluster/supervise/arguments.js';
import { LocalAddresses, runProgram } from '#dns/local-addresses.js';
import { parseResolvConf } from '#nodeagent/environment/dns.js';

/**
 * Link-local addresses: no network uses them, and no packet for them leaves the machine. The machine's own resolvers are
 * excluded: in a pod of another cluster one of these addresses is that cluster's name server.
 */
function* candidates(resolvers: readonly string[]): Generator<string> {
  for (let last = 10; last < 250; last++) {
    const address = `169.254.20.${last}`;
    if (!resolvers.includes(address)) yield address;
  }
}

/** Resolvers of the machine; none without the file. */
function machineResolvers(): readonly string[] {
  try {
    return parseResolvConf(readFileSync('/etc/resolv.conf', 'utf8')).servers;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

const localAddresses = (): LocalAddresses => new LocalAddresses(runProgram);

/** Options of the node agent with that index; undefined: its pods use the machine's resolvers. */
export type NameServer = (place: number) => NodeDnsArguments | undefined;

/** Claims an address that no other cluster of this machine uses, until the cluster stops. */
export async function setUpNameServer(context: ClusterContext): Promise<NameServer> {
  const { start, settings, layout, log, running } = context;
  if (start.clusterDns !== 'built-in') {
    const server = start.clusterDns;
    return () => (server === 'none' ? undefined : { server, isOwn: false });
  }
  // Simulated containers resolve no names.
  if (settings.runtime === 'simulated') return () => undefined;
  try {
    const claimed = claimedAddress(layout);
    const isHeld = claimed !== undefined && (await localAddresses().has(claimed));
    const server = isHeld ? claimed : await localAddresses().claim(candidates(machineResolvers()));
    if (server === undefined) throw new Error('all addresses for name servers are in use');
    running.push(keptForPods('address of the name server', () => releaseNameServer(layout)));
    replaceFile(layout.dnsAddress, server);
    return (place) => ({ server, isOwn: place === 0 });
  } catch (error) {
    log.warn({ err: error }, 'pods cannot resolve names of the cluster');
    return () => undefined;
  }
}

/** Releases the address, also that of a killed run. */
export async function releaseNameServer(layout: Layout): Promise<void> {
  const address = claimedAddress(layout);
  if (address === undefined) return;
  await localAddresses().release(address);
  rmSync(layout.dnsAddress, { force: true });
}

function claimedAddress(layout: Layout): string | undefined {
  try {
    return readFileSync(layout.dnsAddress, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
