/** Load balancers of bare metal: addresses of the operator's pools, which nodes announce. */
import type { LoadBalancerStatus, Service } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { BareMetalConfig } from '#cloud/baremetal/config.js';
import { heldBy } from '#cloud/baremetal/held.js';
import { planAddresses } from '#cloud/baremetal/plan.js';
import type { Annotations, Ensured, LoadBalancers, ServiceCache } from '#cloud/provider/provider.js';

const addressIndex = 'loadBalancerAddress';
const sharingIndex = 'loadBalancerSharing';

export interface BareMetalLoadBalancersOptions {
  readonly dialect: Dialect;
  readonly services: ServiceCache;
  readonly config: () => Promise<BareMetalConfig>;
}

export class BareMetalLoadBalancers implements LoadBalancers {
  readonly #dialect: Dialect;
  readonly #services: ServiceCache;
  readonly #config: () => Promise<BareMetalConfig>;

  constructor({ dialect, services, config }: BareMetalLoadBalancersOptions) {
    this.#dialect = dialect;
    this.#services = services;
    this.#config = config;
    services.addIndexers({
      [addressIndex]: (service) => {
        const { claimed, published } = heldBy(dialect, service);
        return [...new Set([...claimed, ...published])];
      },
      [sharingIndex]: ({ metadata: { namespace = '', annotations = {} } }) => {
        const key = annotations[dialect.annotations.loadBalancerSharing] ?? '';
        return key === '' ? [] : [`${namespace}/${key}`];
      },
    });
  }

  async get(_cluster: string, service: Service): Promise<LoadBalancerStatus | undefined> {
    const { claimed, published } = heldBy(this.#dialect, service);
    const isNoted = service.metadata.annotations?.[this.#dialect.annotations.loadBalancerAddresses] !== undefined;
    return isNoted || claimed.length + published.length > 0 ? (service.status?.loadBalancer ?? {}) : undefined;
  }

  async ensure(_cluster: string, service: Service): Promise<Ensured> {
    const { pools } = await this.#config();
    const plan = planAddresses(service, {
      dialect: this.#dialect,
      pools,
      holders: (address) => this.#services.byIndex(addressIndex, address),
      sharers: (namespace, key) => this.#services.byIndex(sharingIndex, `${namespace}/${key}`),
    });
    if (plan.kind === 'refuse') throw new Error(plan.message);
    if (plan.kind === 'wait') return { kind: 'wait' };
    if (plan.kind === 'publish') return { kind: 'ready', status: { ingress: plan.addresses.map((ip) => ({ ip })) } };
    return { kind: 'note', annotations: this.#claim(plan.addresses) };
  }

  /** Nodes see by themselves which of them announces an address. */
  async update(): Promise<void> {}

  async ensureDeleted(): Promise<Annotations> {
    return this.#claim([]);
  }

  #claim(addresses: readonly string[]): Annotations {
    return { [this.#dialect.annotations.loadBalancerAddresses]: addresses.length === 0 ? undefined : addresses.join() };
  }
}
