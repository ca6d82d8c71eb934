/** Where a daemon sends spans of its own work. Release 1.24 has this option only for its API server. */
import type { OptionTable, OptionValues } from '#daemon/options/option.js';

export const tracingOptions = {
  'tracing-config-file': {
    type: 'string',
    section: 'Traces',
    meaning:
      'Path of a TracingConfiguration: where spans of work on objects and of calls to other servers are sent, and for which share of the objects. Absent: no tracing.',
  },
} as const satisfies OptionTable;

export type TracingValues = OptionValues<typeof tracingOptions>;
