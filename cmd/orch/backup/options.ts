import { dataDir } from '#cmd/orch/context/data-dir.js';
import { etcdOptions } from '#cmd/orch/context/etcd-options.js';
import type { OptionTable } from '#daemon/options/option.js';

const hourMs = 3_600_000;

export const saveOptions = {
  ...dataDir,
  to: {
    type: 'string',
    section: 'Backup',
    meaning:
      'Folder in which a folder for the backup is made. Default: the data directory with -backups behind its name.',
  },
  ...etcdOptions,
} as const satisfies OptionTable;

export const restoreOptions = {
  ...dataDir,
  replace: {
    type: 'bool',
    section: 'Cluster',
    meaning:
      'A cluster that is in the data directory makes way; its store and its keys are kept beside the restored ones.',
  },
} as const satisfies OptionTable;

export const scheduleOptions = {
  ...dataDir,
  every: {
    type: 'duration',
    default: 6 * hourMs,
    min: 60_000,
    section: 'Backup',
    meaning: 'Time between two backups.',
  },
  keep: { type: 'int', default: 28, min: 1, section: 'Backup', meaning: 'How many backups are kept.' },
  to: saveOptions.to,
  off: { type: 'bool', section: 'Backup', meaning: 'Make no more backups; those that there are stay.' },
} as const satisfies OptionTable;

export const listOptions = { ...dataDir, to: saveOptions.to } as const satisfies OptionTable;
