/** Network policy rules as chains of iptables and address sets, for both families. */

import type { Ipset } from '#proxy/ipset/ipset.js';
import { type SetChange, type SetListing, SetState } from '#proxy/ipset/set-state.js';
import { ChainState } from '#proxy/iptables/chain-state.js';
import type { Iptables, Listings, Texts } from '#proxy/iptables/iptables.js';
import { policyBaseChains } from '#proxy/iptables/policies/base-policy-chains.js';
import {
  memberOf,
  ownSets,
  podChains,
  selectionSet,
  selectionsOf,
  setName,
} from '#proxy/iptables/policies/policy-chains.js';
import type { KernelRules, RuleState } from '#proxy/loop/rule-loop.js';
import type { PodPlan, PolicyTable } from '#proxy/policies/model.js';
import type { Selection } from '#proxy/policies/selection.js';
import type { Family } from '#proxy/services/proxy-settings.js';

export interface PolicyListing {
  readonly chains: Listings;
  /** Undefined without the program. */
  readonly sets: SetListing | undefined;
}

export interface PolicyCommands {
  readonly chains: Texts;
  readonly sets: SetChange | undefined;
}

export interface IptablesPoliciesOptions {
  readonly families: readonly Family[];
  readonly prefix: string;
  /** Whether the kernel supports sets; otherwise members become rules. */
  readonly hasSets: boolean;
}

const noChains = { chains: new Map<string, never>(), hooks: [] };

export class IptablesPolicies implements PolicyTable<PolicyListing, PolicyCommands> {
  readonly state: RuleState<PolicyListing, PolicyCommands>;
  readonly #options: IptablesPoliciesOptions;
  readonly #chains: ReadonlyMap<Family, ChainState>;
  readonly #sets = new SetState();
  /** Isolated pods of this node. */
  readonly #isolated = new Map<string, PodPlan>();

  constructor(options: IptablesPoliciesOptions) {
    this.#options = options;
    const { families, prefix } = options;
    this.#chains = new Map(families.map((family) => [family, new ChainState(policyBaseChains(family, prefix))]));
    this.state = {
      takeChange: () => {
        this.#putMembersIntoRules();
        const sets = this.#sets.takeChange();
        return this.#commands(sets, (state) => state.takeChange());
      },
      differences: (listing) => {
        this.#putMembersIntoRules();
        const sets = this.#sets.differences(listing?.sets ?? new Map<string, never>());
        return this.#commands(sets, (state, family) => state.differences(listing?.chains.get(family) ?? noChains));
      },
    };
  }

  select(selections: readonly Selection[]): void {
    const { families, prefix } = this.#options;
    const sets = selections.flatMap((each) => families.map((family) => selectionSet(prefix, family, each)));
    this.#sets.declare(sets);
  }

  contribute(pod: string, plan: PodPlan | undefined): void {
    const { families, prefix } = this.#options;
    const members = (plan?.memberships ?? []).filter(({ family }) => families.includes(family));
    this.#sets.contribute(
      pod,
      members.map((each) => memberOf(prefix, each)),
    );
    const isIsolated = plan !== undefined && Object.keys(plan.isolated).length > 0;
    if (isIsolated) this.#isolated.set(pod, plan);
    else this.#isolated.delete(pod);
    this.#contributeChains(pod, isIsolated ? plan : undefined);
  }

  #contributeChains(pod: string, plan: PodPlan | undefined): void {
    const { hasSets, prefix } = this.#options;
    const members = hasSets ? undefined : (set: string) => this.#sets.members(set);
    for (const [family, state] of this.#chains)
      state.contribute(pod, plan && podChains(plan, { family, prefix, members }));
  }

  /** Without sets: renew the rules of pods whose selections have changed. */
  #putMembersIntoRules(): void {
    const { families, hasSets, prefix } = this.#options;
    if (hasSets) return;
    const touched = this.#sets.touched();
    if (touched.size === 0) return;
    for (const [pod, plan] of this.#isolated) {
      const names = selectionsOf(plan).flatMap((each) => families.map((family) => setName(prefix, family, each)));
      if (names.some((name) => touched.has(name))) this.#contributeChains(pod, plan);
    }
  }

  #commands(
    sets: SetChange | undefined,
    of: (state: ChainState, family: Family) => string | undefined,
  ): PolicyCommands | undefined {
    const chains = new Map<Family, string>();
    for (const [family, state] of this.#chains) {
      const text = of(state, family);
      if (text !== undefined) chains.set(family, text);
    }
    const setChange = this.#options.hasSets ? sets : undefined;
    return chains.size === 0 && setChange === undefined ? undefined : { chains, sets: setChange };
  }
}

/** The kernel's policy rules. `ipset`: undefined if not available. */
export function policyRules(
  iptables: Iptables,
  ipset: Ipset | undefined,
  { families, prefix }: Pick<IptablesPoliciesOptions, 'families' | 'prefix'>,
): KernelRules<PolicyListing, PolicyCommands> {
  const { hooks } = policyBaseChains('IPv4', prefix);
  const rules = iptables.rules({ prefix, keeper: 'policies', hooks, families });
  return {
    name: `${prefix}, network policies`,
    has: async () => {
      // Destroy sets that were in use before.
      await ipset?.destroy([]);
      return rules.has();
    },
    list: async () => {
      const sets = await ipset?.list(ownSets(prefix));
      return { chains: (await rules.list()) ?? new Map(), sets };
    },
    // Fill sets before the rules that use them, and destroy sets after.
    apply: async ({ chains, sets }) => {
      if (ipset !== undefined && sets !== undefined) await ipset.change(sets);
      await rules.apply(chains);
      if (ipset !== undefined && sets !== undefined) await ipset.destroy(sets.destroyed);
    },
  };
}
