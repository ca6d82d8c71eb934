/** Where a daemon sends spans of what it does by itself. Release 1.24 has the option for its API server only. */
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
