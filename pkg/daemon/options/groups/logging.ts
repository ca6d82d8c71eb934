/** Options of logging. */
import type { OptionTable, OptionValues } from '#daemon/options/option.js';
import type { Rule } from '#daemon/options/validate.js';

const section = 'Logs';

export const loggingOptions = {
  'logging-format': {
    type: 'string',
    default: 'text',
    oneOf: ['text', 'json'],
    section,
    meaning: 'Form of the log lines. json ignores --vmodule.',
  },
  'log-flush-frequency': {
    type: 'duration',
    default: 5000,
    inert: true,
    section,
    meaning: 'Longest time between flushes; every line is written at once.',
  },
  v: { type: 'int', shorthand: 'v', section, meaning: 'Verbosity: 0 to 3 informational, 4 and more for debugging.' },
  vmodule: {
    type: 'strings',
    inert: true,
    section,
    meaning: 'Verbosity per file, `pattern=N`; text format only.',
  },
} as const satisfies OptionTable;

export type LoggingValues = OptionValues<typeof loggingOptions>;

export const loggingRules: Rule<LoggingValues> = (values) =>
  values.vmodule
    .filter((item) => !/^[^=]+=\d+$/.test(item))
    .map((item) => `--vmodule: ${JSON.stringify(item)} is not of the form pattern=N`);
