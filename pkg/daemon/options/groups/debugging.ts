/** Options of profiling. */
import type { OptionTable } from '#daemon/options/option.js';

export const debuggingOptions = {
  profiling: {
    type: 'bool',
    default: true,
    inert: true,
    section: 'Debugging',
    meaning: 'Serve profiles at host:port/debug/pprof/.',
  },
  'contention-profiling': {
    type: 'bool',
    inert: true,
    section: 'Debugging',
    meaning: 'Profile lock contention, when profiling is on.',
  },
} as const satisfies OptionTable;
