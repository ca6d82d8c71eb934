/** Service rules as chains of iptables, for both families. */

import { serviceBaseChains } from '#proxy/iptables/base-chains.js';
import { ChainState } from '#proxy/iptables/chain-state.js';
import type { Listings, Texts } from '#proxy/iptables/iptables.js';
import { planChains } from '#proxy/iptables/service-chains.js';
import type { RuleState } from '#proxy/loop/rule-loop.js';
import type { Family, ProxySettings } from '#proxy/services/proxy-settings.js';
import type { ServiceRoutes, ServiceTable } from '#proxy/services/routes.js';

export interface IptablesServicesOptions {
  readonly families: readonly Family[];
  readonly prefix: string;
  readonly settings: ProxySettings;
}

export class IptablesServices implements ServiceTable<Listings, Texts> {
  readonly state: RuleState<Listings, Texts>;
  readonly #options: IptablesServicesOptions;
  readonly #states: ReadonlyMap<Family, ChainState>;

  constructor(options: IptablesServicesOptions) {
    this.#options = options;
    const { families, prefix, settings } = options;
    this.#states = new Map(
      families.map((family) => [family, new ChainState(serviceBaseChains(family, prefix, settings))]),
    );
    this.state = {
      takeChange: () => this.#texts((state) => state.takeChange()),
      differences: (listings) =>
        this.#texts((state, family) => state.differences(listings?.get(family) ?? { chains: new Map(), hooks: [] })),
    };
  }

  adopt(): void {
    // Chains have no slots that an endpoint could keep.
  }

  adopted(): void {}

  contribute(key: string, routes: ServiceRoutes | undefined): void {
    const { prefix, settings } = this.#options;
    for (const [family, state] of this.#states)
      state.contribute(key, routes && planChains(routes, { family, prefix, settings }));
  }

  ledTo(): undefined {
    return undefined;
  }

  async forgetClients(): Promise<void> {
    // The kernel's client list of an endpoint disappears with its chain.
  }

  #texts(of: (state: ChainState, family: Family) => string | undefined): Texts | undefined {
    const texts = new Map<Family, string>();
    for (const [family, state] of this.#states) {
      const text = of(state, family);
      if (text !== undefined) texts.set(family, text);
    }
    return texts.size === 0 ? undefined : texts;
  }
}
