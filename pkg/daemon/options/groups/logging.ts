/** Options of logging. */
import { quoted } from '#apimachinery/errors/message-values.js';
import type { OptionTable, OptionValues } from '#daemon/options/option.js';
import type { Rule } from '#daemon/options/validate.js';

const section = 'Logs';

const formats = ['text', 'json'] as const;

/** The error that 1.24 reports for one occurrence of `--vmodule`. */
function vmoduleError(text: string): string | undefined {
  for (const item of text.split(',')) {
    if (item === '') continue;
    const [pattern = '', level = '', ...more] = item.split('=');
    if (pattern === '' || level === '' || more.length > 0) return `${quoted(item)} does not have the pattern=N format`;
    if (!/^\d{1,9}$/.test(level)) {
      return `parsing verbosity in ${quoted(item)}: strconv.ParseUint: parsing ${quoted(level)}: invalid syntax`;
    }
  }
  return undefined;
}

export const loggingOptions = {
  'logging-format': {
    type: 'string',
    default: 'text',
    choices: formats,
    section,
    meaning: 'Log format; json ignores --vmodule.',
  },
  'log-flush-frequency': {
    type: 'duration',
    default: 5000,
    section,
    meaning: 'Longest time that a line is buffered; errors are never buffered. If not set, no line is.',
  },
  v: {
    type: 'int',
    unsigned: true,
    shorthand: 'v',
    section,
    meaning: 'Verbosity: 0 to 3 informational, 4 and more for debugging.',
  },
  vmodule: {
    type: 'strings',
    check: vmoduleError,
    section,
    meaning:
      'Verbosity per source file, `pattern=N`: the name without directory and ending, or with a slash the whole path; * and ? are wildcards. Text format only.',
  },
} as const satisfies OptionTable;

export type LoggingValues = OptionValues<typeof loggingOptions>;

export const loggingRules: Rule<LoggingValues> = (values) => {
  const messages: string[] = [];
  const format = values['logging-format'];
  if (!formats.some((each) => each === format)) {
    messages.push(`format: Invalid value: ${quoted(format)}: Unsupported log format`);
  }
  if (values.vmodule.length > 0 && format !== 'text') {
    messages.push('vmodule: Forbidden: Only supported for text log format');
  }
  if (values['log-flush-frequency'] < 0) messages.push('--log-flush-frequency must not be negative');
  return messages;
};

/** Options of the logging library that 1.24 is removing: accepted without effect. */
const common = {
  section: 'Logs',
  deprecated: 'it will be removed in a future release',
  inert: 'logs go to standard error',
} as const;

export const legacyLoggingOptions = {
  'add-dir-header': { ...common, type: 'bool', meaning: "Add the source file's directory to the head of each line." },
  alsologtostderr: { ...common, type: 'bool', meaning: 'Log to standard error as well as to files.' },
  'log-backtrace-at': {
    ...common,
    type: 'string',
    default: ':0',
    meaning: 'Print a stack trace when logging reaches file:line.',
  },
  'log-dir': { ...common, type: 'string', meaning: 'Directory of log files.' },
  'log-file': { ...common, type: 'string', meaning: 'The only log file.' },
  'log-file-max-size': {
    ...common,
    type: 'int',
    default: 1800,
    meaning: 'Largest size of a log file in megabytes; 0 means no limit.',
  },
  logtostderr: {
    ...common,
    type: 'bool',
    default: true,
    inertUnless: ['true'],
    meaning: 'Log to standard error instead of files.',
  },
  'one-output': { ...common, type: 'bool', meaning: 'Write each line only to the log of its own severity.' },
  'skip-headers': { ...common, type: 'bool', meaning: 'Leave out the head of each line.' },
  'skip-log-headers': { ...common, type: 'bool', meaning: 'Leave out the head of each log file.' },
  stderrthreshold: {
    ...common,
    type: 'int',
    default: 2,
    words: { INFO: 0, WARNING: 1, ERROR: 2, FATAL: 3 },
    meaning: 'Lines of this severity and above go to standard error when logging to files.',
  },
} as const satisfies OptionTable;
