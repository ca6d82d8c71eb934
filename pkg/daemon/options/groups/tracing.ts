/** Where a daemon sends spans of its own work. Release 1.24 has this option only for its API server. */
import type { OptionTable, OptionValues } from '#daemon/options/option.js';

export const tracingOptions = {
  'tracing-config-file': {
    type: 'string',
    section: 'Traces',
    meaning:
      'TracingConfiguration: where spans of the work on objects, and of what it asks others for, are sent, and of what share of the objects. Absent: nowhere.',
  },
} as const satisfies OptionTable;

export type TracingValues = OptionValues<typeof tracingOptions>;
