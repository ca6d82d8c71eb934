/** Names options in messages by configuration file field and flag, since either may have set them. */
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

/** Names of numeric options. */
export type NumberOption = { [K in OptionName]: NodeAgentOptions[K] extends number ? K : never }[OptionName];
