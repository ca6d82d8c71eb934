/** What `--cloud-provider` means to a node agent. */
import { readFile } from 'node:fs/promises';
import { messageOf } from '#apimachinery/errors/message.js';
import { parseBareMetalConfig } from '#cloud/baremetal/config.js';
import { bareMetal } from '#cloud/baremetal/provider.js';
import { external } from '#cloud/registry.js';
import { OptionsError } from '#daemon/options/option.js';
import { machineLinks } from '#nodeagent/announce/machine-links.js';
import type { NodeAgentDependencies } from '#nodeagent/dependencies.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';

/** On bare metal: the interfaces that addresses of load balancers are put on. Throws OptionsError. */
export async function cloudDependencies(values: NodeAgentOptions): Promise<Pick<NodeAgentDependencies, 'links'>> {
  const provider = values['cloud-provider'] ?? '';
  if (provider === '' || provider === external) return {};
  if (provider !== bareMetal) throw new OptionsError([`unknown cloud provider "${provider}"`]);
  const path = values['cloud-config'] ?? '';
  if (path === '') return { links: machineLinks(undefined) };
  return { links: machineLinks(parseBareMetalConfig(await textOf(path), path).interface) };
}

async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new OptionsError([`--cloud-config: ${messageOf(error)}`]);
  }
}
