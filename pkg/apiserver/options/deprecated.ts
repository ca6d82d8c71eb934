/** Options that 1.24 still accepts and that nothing needs any more. */
import type { OptionTable } from '#daemon/options/option.js';

const section = 'Deprecated';

export const deprecatedOptions = {
  'nodeagent-https': {
    type: 'bool',
    default: true,
    inert: true,
    deprecated: 'node agents are always reached over HTTPS.',
    section,
    meaning: 'Reach node agents over HTTPS.',
  },
  'vendor-container-registry-config': {
    type: 'string',
    inert: true,
    section,
    meaning: "Configuration of a vendor's container registry.",
  },
} as const satisfies OptionTable;
