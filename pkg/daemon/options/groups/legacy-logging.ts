/** Options of the logging library that 1.24 is leaving: still accepted, none has an effect. */
import type { OptionTable } from '#daemon/options/option.js';

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
  logtostderr: { ...common, type: 'bool', default: true, meaning: 'Log to standard error instead of files.' },
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
