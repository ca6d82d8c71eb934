import type { OptionTable } from '#daemon/options/option.js';

const defaultDataDir = '/var/lib/orch';

export const dataDir = {
  'data-dir': {
    type: 'string',
    default: defaultDataDir,
    section: 'Cluster',
    meaning: 'Directory that holds everything of the cluster.',
  },
} as const satisfies OptionTable;
