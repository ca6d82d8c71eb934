/** Options of profiling. */
import type { OptionTable, OptionValues } from '#daemon/options/option.js';

export const debuggingOptions = {
  profiling: {
    type: 'bool',
    default: true,
    section: 'Debugging',
    meaning: 'Serve profiles at host:port/debug/pprof/.',
  },
  'contention-profiling': {
    type: 'bool',
    inert: 'the runtime has no locks that threads contend for',
    section: 'Debugging',
    meaning: 'Profile lock contention, when profiling is on.',
  },
} as const satisfies OptionTable;

export type DebuggingValues = OptionValues<typeof debuggingOptions>;
