/** How messages name an option: by its field in the configuration file and by its flag, as either may have set it. */
import type { OptionTable } from '#daemon/options/option.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';
import { nodeAgentOptions } from '#nodeagent/options/declarations.js';

export type OptionName = keyof NodeAgentOptions;

const table: OptionTable = nodeAgentOptions;

/** `maxPods (--max-pods)`, or `--node-ip` for an option without a field. */
export function label(name: OptionName): string {
  const field = table[name]?.configField;
  return field === undefined ? `--${name}` : `${field} (--${name})`;
}

/** The values of options whose type is number. */
export type NumberOption = { [K in OptionName]: NodeAgentOptions[K] extends number ? K : never }[OptionName];
