/** Options that 1.24 still accepts and that nothing needs any more. */
import type { OptionTable } from '#daemon/options/option.js';

const section = 'Deprecated';

export const deprecatedOptions = {
  'cloud-provider-gce-lb-src-cidrs': {
    type: 'strings',
    inert: true,
    deprecated: 'use --cloud-provider-gce-l7lb-src-cidrs.',
    section,
    meaning: 'Sources of a cloud provider’s load balancers.',
  },
  'enable-logs-handler': {
    type: 'bool',
    default: true,
    deprecated: 'will be removed in a future version',
    section,
    meaning: 'Show /var/log at /logs/.',
  },
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
