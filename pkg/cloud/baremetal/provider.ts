/** Machines that an operator owns: there is nobody to ask but the file in which they are written down. */
import type { Node } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { type BareMetalConfig, type Machine, parseBareMetalConfig } from '#cloud/baremetal/config.js';
import { BareMetalLoadBalancers } from '#cloud/baremetal/load-balancers.js';
import type { CloudProvider, InstanceMetadata, Instances } from '#cloud/provider/provider.js';

export const bareMetal = 'bare-metal';

/** The text of the configuration file, as it is now. */
export type ReadConfig = () => Promise<string>;

/** The configuration, read anew whenever it is needed: changes of the file need no restart. Throws OptionsError. */
export function bareMetalConfig(read: ReadConfig, source: string): () => Promise<BareMetalConfig> {
  let last: { readonly text: string; readonly config: BareMetalConfig } | undefined;
  return async () => {
    const text = await read();
    if (last?.text !== text) last = { text, config: parseBareMetalConfig(text, source) };
    return last.config;
  };
}

/** Reads the configuration once to see that it is right. Throws OptionsError. */
export async function bareMetalProvider(
  dialect: Dialect,
  config: () => Promise<BareMetalConfig>,
): Promise<CloudProvider> {
  const { machines } = await config();
  return {
    name: bareMetal,
    loadBalancers: (services) => new BareMetalLoadBalancers({ dialect, services, config }),
    // Without a list nobody can tell that a machine is gone.
    ...(machines === undefined ? {} : { instances: bareMetalInstances(config) }),
  };
}

function bareMetalInstances(config: () => Promise<BareMetalConfig>): Instances {
  const machineOf = async ({ metadata }: Node): Promise<Machine | undefined> => {
    const { machines } = await config();
    if (machines === undefined) throw new Error('the configuration lists no machines any more');
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
