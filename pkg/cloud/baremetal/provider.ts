/** The cloud provider for an operator's own machines, which the configuration file lists. */
import type { LoadBalancerStatus, Node, Service } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { type BareMetalConfig, type Machine, parseBareMetalConfig } from '#cloud/baremetal/config.js';
import { planAddresses } from '#cloud/baremetal/plan.js';
import { addressesOfService } from '#cloud/baremetal/service-addresses.js';
import type {
  Annotations,
  CloudProvider,
  Ensured,
  InstanceMetadata,
  Instances,
  LoadBalancers,
  ServiceCache,
} from '#cloud/provider/provider.js';

export const bareMetal = 'bare-metal';

/** Reads the configuration file. */
export type ReadConfig = () => Promise<string>;

/** Reads the file on every call, so that changes need no restart. Throws OptionsError. */
export function bareMetalConfig(read: ReadConfig, source: string): () => Promise<BareMetalConfig> {
  let last: { readonly text: string; readonly config: BareMetalConfig } | undefined;
  return async () => {
    const text = await read();
    if (last?.text !== text) last = { text, config: parseBareMetalConfig(text, source) };
    return last.config;
  };
}

/** Validates the configuration first. Throws OptionsError. */
export async function bareMetalProvider(
  dialect: Dialect,
  config: () => Promise<BareMetalConfig>,
): Promise<CloudProvider> {
  const { machines } = await config();
  return {
    name: bareMetal,
    loadBalancers: (services) => new BareMetalLoadBalancers({ dialect, services, config }),
    // Without a list of machines, a missing machine cannot be detected.
    ...(machines === undefined ? {} : { instances: bareMetalInstances(config) }),
  };
}

function bareMetalInstances(config: () => Promise<BareMetalConfig>): Instances {
  const machineOf = async ({ metadata }: Node): Promise<Machine | undefined> => {
    const { machines } = await config();
    if (machines === undefined) throw new Error('the configuration must list machines, as it did at the start');
    return machines.get(metadata.name ?? '');
  };
  return {
    exists: async (node) => (await machineOf(node)) !== undefined,
    isShutdown: async (node) => (await machineOf(node))?.shutdown === true,
    async metadata(node): Promise<InstanceMetadata | undefined> {
      const machine = await machineOf(node);
      if (machine === undefined) return undefined;
      const { name, shutdown: _, ...rest } = machine;
      return { providerID: `${bareMetal}://${name}`, ...rest };
    },
  };
}

const addressIndex = 'loadBalancerAddress';
const sharingIndex = 'loadBalancerSharing';

interface BareMetalLoadBalancersOptions {
  readonly dialect: Dialect;
  readonly services: ServiceCache;
  readonly config: () => Promise<BareMetalConfig>;
}

/** Load balancers made of addresses from the operator's pools, which nodes announce. */
class BareMetalLoadBalancers implements LoadBalancers {
  readonly #dialect: Dialect;
  readonly #services: ServiceCache;
  readonly #config: () => Promise<BareMetalConfig>;

  constructor({ dialect, services, config }: BareMetalLoadBalancersOptions) {
    this.#dialect = dialect;
    this.#services = services;
    this.#config = config;
    services.addIndexers({
      [addressIndex]: (service) => {
        const { claimed, published } = addressesOfService(dialect, service);
        return [...new Set([...claimed, ...published])];
      },
      [sharingIndex]: ({ metadata: { namespace = '', annotations = {} } }) => {
        const key = annotations[dialect.annotations.loadBalancerSharing] ?? '';
        return key === '' ? [] : [`${namespace}/${key}`];
      },
    });
  }

  async get(_cluster: string, service: Service): Promise<LoadBalancerStatus | undefined> {
    const { claimed, published } = addressesOfService(this.#dialect, service);
    const isAnnotated = service.metadata.annotations?.[this.#dialect.annotations.loadBalancerAddresses] !== undefined;
    return isAnnotated || claimed.length + published.length > 0 ? (service.status?.loadBalancer ?? {}) : undefined;
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
    return { kind: 'annotate', annotations: this.#claim(plan.addresses) };
  }

  /** Nothing to do: each node chooses the addresses that it announces. */
  async update(): Promise<void> {}

  async ensureDeleted(): Promise<Annotations> {
    return this.#claim([]);
  }

  #claim(addresses: readonly string[]): Annotations {
    return { [this.#dialect.annotations.loadBalancerAddresses]: addresses.length === 0 ? undefined : addresses.join() };
  }
}
