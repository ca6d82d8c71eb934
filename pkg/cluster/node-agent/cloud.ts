/** Implements `--cloud-provider` of a node agent. */

import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { messageOf } from '#apimachinery/errors/message.js';
import { parseBareMetalConfig } from '#cloud/baremetal/config.js';
import { bareMetal } from '#cloud/baremetal/provider.js';
import { external } from '#cloud/registry.js';
import { OptionsError } from '#daemon/options/option.js';
import { Links } from '#nodeagent/announce/links.js';
import type { NodeAgentDependencies } from '#nodeagent/dependencies.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';

const execute = promisify(execFile);

/** Limit of a hanging program, which would delay other addresses. */
const timeoutMs = 10_000;

/** `name`: the interface of all addresses; absent: the one on each address's route. */
function machineLinks(name: string | undefined): Links {
  return new Links({
    run: async (program, args) => (await execute(program, args, { timeout: timeoutMs })).stdout,
    set: (path, value) => writeFile(`/proc/sys/${path}`, value),
    ...(name === undefined ? {} : { interface: name }),
  });
}

/** On bare metal: the interfaces for load balancer addresses. Throws OptionsError. */
export async function cloudDependencies(values: NodeAgentOptions): Promise<Pick<NodeAgentDependencies, 'links'>> {
  const provider = values['cloud-provider'] ?? '';
  if (provider === '' || provider === external) return {};
  if (provider !== bareMetal) throw new OptionsError([`unknown cloud provider "${provider}"`]);
  const path = values['cloud-config'] ?? '';
  if (path === '') return { links: machineLinks(undefined) };
  return { links: machineLinks(parseBareMetalConfig(await readConfig(path), path).interface) };
}

async function readConfig(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new OptionsError([`--cloud-config: ${messageOf(error)}`]);
  }
}
