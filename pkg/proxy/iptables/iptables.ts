/** Runs iptables(8) and ip6tables(8): changes and lists chains. */
import { changeText, type Hook, type Keeper, ownChains, tables } from '#proxy/iptables/chain.js';
import { type ChainListing, parseListing } from '#proxy/iptables/listing.js';
import type { KernelRules } from '#proxy/loop/rule-loop.js';
import { isProgramMissing, ProgramError, type RunWithInput } from '#proxy/program/run-program.js';
import { type Family, families } from '#proxy/services/proxy-settings.js';

/** Seconds to wait for the lock that other programs may hold. */
const lockSeconds = '30';
const programs: Readonly<Record<Family, 'iptables' | 'ip6tables'>> = { IPv4: 'iptables', IPv6: 'ip6tables' };

/** Chains by family, for families that the kernel supports. */
export type Listings = ReadonlyMap<Family, ChainListing>;
/** Inputs of `iptables-restore --noflush`. */
export type Texts = ReadonlyMap<Family, string>;

/** An owner's chains and the hooks that lead to them. */
export interface KeptChains {
  readonly prefix: string;
  readonly keeper: Keeper;
  readonly hooks: readonly Hook[];
  readonly families: readonly Family[];
}

export class Iptables {
  readonly #run: RunWithInput;

  constructor(run: RunWithInput) {
    this.#run = run;
  }

  /** Version line; rejects if iptables does not exist. */
  version(): Promise<string> {
    return this.#run('iptables', ['--version']);
  }

  /** Families that support rules. Rejects without IPv4; IPv6 is optional. */
  async families(): Promise<Family[]> {
    await this.#save('IPv4');
    try {
      await this.#run(programs.IPv6, ['-w', lockSeconds, '-t', 'nat', '-S', 'PREROUTING']);
      return [...families];
    } catch (error) {
      if (!isProgramMissing(error) && !(error instanceof ProgramError)) throw error;
      return ['IPv4'];
    }
  }

  async #list(family: Family, prefix: string, keeper: Keeper): Promise<ChainListing> {
    return parseListing(await this.#save(family), ownChains(prefix, keeper));
  }

  /** Each table is applied atomically, one after the other. */
  async #restore(family: Family, text: string): Promise<void> {
    await this.#run(`${programs[family]}-restore`, ['-w', lockSeconds, '--noflush'], text);
  }

  async #hasHook(family: Family, { from, table, to }: Hook): Promise<boolean> {
    try {
      await this.#run(programs[family], ['-w', lockSeconds, '-t', table, '-C', from, '-j', to]);
      return true;
    } catch (error) {
      if (error instanceof ProgramError && error.code === 1) return false;
      throw error;
    }
  }

  /** The kernel's rules of an owner; `hooks` are all jumps to its chains. */
  rules({ families: of, hooks, keeper, prefix }: KeptChains): KernelRules<Listings, Texts> {
    // A table loses all its hooks at once, so one per table is checked.
    const watched = tables.flatMap((table) => hooks.find((hook) => hook.table === table) ?? []);
    return {
      name: prefix,
      has: async () => {
        for (const family of of) {
          for (const hook of watched) if (!(await this.#hasHook(family, hook))) return false;
        }
        return true;
      },
      list: async () => {
        const listings = new Map<Family, ChainListing>();
        for (const family of of) listings.set(family, await this.#list(family, prefix, keeper));
        return listings;
      },
      apply: async (texts) => {
        for (const [family, text] of texts) await this.#restore(family, text);
      },
    };
  }

  /** Removes an owner's chains under the prefix, if any. */
  async remove(prefix: string, keeper: Keeper): Promise<void> {
    for (const family of families) {
      const listing = await this.#listIfAny(family, prefix, keeper);
      if (listing === undefined) continue;
      const { chains, hooks } = listing;
      const text = changeText({ written: [], deleted: [...chains.values()], addedHooks: [], deletedHooks: hooks });
      if (text !== undefined) await this.#restore(family, text);
    }
  }

  /** Undefined without the program or the permission: then we have no chains. */
  async #listIfAny(family: Family, prefix: string, keeper: Keeper): Promise<ChainListing | undefined> {
    try {
      return await this.#list(family, prefix, keeper);
    } catch (error) {
      if (isProgramMissing(error) || error instanceof ProgramError) return undefined;
      throw error;
    }
  }

  #save(family: Family): Promise<string> {
    return this.#run(`${programs[family]}-save`, []);
  }
}
