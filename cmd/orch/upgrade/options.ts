import { dataDir } from '#cmd/orch/context/data-dir.js';
import type { OptionTable } from '#daemon/options/option.js';

export const upgradeOptions = {
  ...dataDir,
  check: { type: 'bool', section: 'Upgrade', meaning: 'Only say what is in the way; nothing is changed.' },
  rollback: {
    type: 'bool',
    section: 'Upgrade',
    meaning: 'These programs are of an older release than those that run: go back to them.',
  },
  drain: {
    type: 'bool',
    section: 'Upgrade',
    meaning: 'Have the pods of this machine go elsewhere before. Default: they stay, and their containers run on.',
  },
  timeout: {
    type: 'duration',
    default: 300_000,
    section: 'Upgrade',
    meaning: 'How long draining may take; 0 waits for ever. Disruption budgets may hold pods.',
  },
  backup: { type: 'bool', default: true, section: 'Backup', meaning: 'Make a backup before.' },
  'backup-to': {
    type: 'string',
    section: 'Backup',
    meaning: 'Folder in which that is made. Default: the data directory with -backups behind its name.',
  },
} as const satisfies OptionTable;
