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
    section,
    meaning:
      'Longest time that a line waits to be written together with others; errors never wait. Unless it is given, no line waits.',
  },
  v: { type: 'int', shorthand: 'v', section, meaning: 'Verbosity: 0 to 3 informational, 4 and more for debugging.' },
  vmodule: {
    type: 'strings',
    section,
    meaning:
      'Verbosity per source file, `pattern=N`: the name without directory and ending, or with a slash the whole path; * and ? are wildcards. Text format only.',
  },
} as const satisfies OptionTable;

export type LoggingValues = OptionValues<typeof loggingOptions>;

export const loggingRules: Rule<LoggingValues> = (values) => {
  const messages = values.vmodule
    .filter((item) => !/^[^=]+=\d{1,9}$/.test(item))
    .map((item) => `--vmodule: ${JSON.stringify(item)} is not of the form pattern=N`);
  if (values.vmodule.length > 0 && values['logging-format'] === 'json') {
    messages.push('--vmodule: only supported for --logging-format=text');
  }
  if (values['log-flush-frequency'] < 0) messages.push('--log-flush-frequency must not be negative');
  return messages;
};
