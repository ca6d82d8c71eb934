/** Chooses the program that changes kernel rules: nft if available, else iptables. */
import { messageOf } from '#apimachinery/errors/message.js';
import type { ProxyMode } from '#daemon/options/groups/service-proxy.js';
import { Ipset } from '#proxy/ipset/ipset.js';
import { chainPrefix, type Keeper, keepers } from '#proxy/iptables/chain.js';
import { Iptables } from '#proxy/iptables/iptables.js';
import { ownSets } from '#proxy/iptables/policies/policy-chains.js';
import { Nft } from '#proxy/nft/nft.js';
import { isProgramMissing, type RunWithInput } from '#proxy/program/run-program.js';
import type { Family } from '#proxy/services/proxy-settings.js';

export type Backend =
  | { readonly mode: 'nftables'; readonly version: string; readonly nft: Nft }
  | {
      readonly mode: 'iptables';
      readonly version: string;
      readonly iptables: Iptables;
      readonly families: readonly Family[];
      /** Undefined if the program or the kernel module is missing. */
      readonly ipset: Ipset | undefined;
    };

/** The first working backend of the mode. Throws an error with a remedy if none works. */
export async function findBackend(mode: ProxyMode, run: RunWithInput): Promise<Backend> {
  const problems: string[] = [];
  for (const [name, find] of Object.entries(finders)) {
    if (mode !== 'auto' && mode !== name) continue;
    try {
      return await find(run);
    } catch (error) {
      problems.push(isProgramMissing(error) ? `${name}: the program is missing` : messageOf(error));
    }
  }
  const remedy =
    mode === 'iptables'
      ? 'install the package iptables'
      : 'install the package nftables, give the proxy the right to change the kernel’s tables,';
  throw new Error(`${remedy} or switch the service proxy off and run another (${problems.join('; ')})`);
}

const finders: Readonly<Record<Backend['mode'], (run: RunWithInput) => Promise<Backend>>> = {
  async nftables(run) {
    const nft = new Nft(run);
    const version = await nft.version();
    await nft.has('');
    return { mode: 'nftables', version: version.trim(), nft };
  },
  async iptables(run) {
    const iptables = new Iptables(run);
    const version = await iptables.version();
    const families = await iptables.families();
    const ipset = new Ipset(run);
    const hasSets = await ipset.works();
    return { mode: 'iptables', version: version.trim(), iptables, families, ipset: hasSets ? ipset : undefined };
  },
};

export function policiesTable(table: string): string {
  return `${table}-policies`;
}

/** Removes all rules of a proxy, whichever program created them; its services are not routed any more. */
export async function removeRules(run: RunWithInput, table: string): Promise<void> {
  await removeRulesOf('nftables', run, table);
  await removeRulesOf('iptables', run, table);
}

/** Also removes rules that a proxy of another mode left behind; of services, of policies, or of both. */
export async function removeRulesOf(
  mode: Backend['mode'],
  run: RunWithInput,
  table: string,
  of: readonly Keeper[] = keepers,
): Promise<void> {
  for (const keeper of of) await removers[mode](run, table, keeper);
}

const removers: Readonly<Record<Backend['mode'], (run: RunWithInput, table: string, keeper: Keeper) => Promise<void>>> =
  {
    async nftables(run, table, keeper) {
      try {
        await new Nft(run).deleteTable(keeper === 'services' ? table : policiesTable(table));
      } catch (error) {
        // Without the program we cannot have created rules.
        if (!isProgramMissing(error)) throw error;
      }
    },
    async iptables(run, table, keeper) {
      const prefix = chainPrefix(table);
      await new Iptables(run).remove(prefix, keeper);
      const ipset = new Ipset(run);
      if (keeper === 'policies' && (await ipset.works()))
        await ipset.destroy([...(await ipset.list(ownSets(prefix))).keys()]);
    },
  };
