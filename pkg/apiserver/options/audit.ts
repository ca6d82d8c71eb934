/** Options of the audit log. */
import type { Dialect } from '#apimachinery/dialect.js';
import type { OptionTable } from '#daemon/options/option.js';

const section = 'Auditing';

export const auditModes = ['batch', 'blocking', 'blocking-strict'] as const;

/** The dialect determines the version of events. */
export function auditOptions(dialect: Dialect) {
  const version = `audit.${dialect.apiDomain}/v1`;
  return {
    'audit-log-batch-buffer-size': {
      type: 'int',
      default: 10_000,
      section,
      meaning: 'Most events that wait to be written to the audit log.',
    },
    'audit-log-batch-max-size': { type: 'int', default: 1, section, meaning: 'Most events in a batch.' },
    'audit-log-batch-max-wait': {
      type: 'duration',
      section,
      meaning: 'Longest time until an incomplete batch is written.',
    },
    'audit-log-batch-throttle-burst': { type: 'int', section, meaning: 'Batches in a burst above the rate.' },
    'audit-log-batch-throttle-enable': { type: 'bool', section, meaning: 'Limit the rate of batches.' },
    'audit-log-batch-throttle-qps': { type: 'float', section, meaning: 'Batches per second.' },
    'audit-log-compress': { type: 'bool', section, meaning: 'Compress rotated files.' },
    'audit-log-format': {
      type: 'string',
      default: 'json',
      choices: ['json', 'legacy'],
      section,
      meaning: 'Format of the lines: json or legacy.',
    },
    'audit-log-maxage': { type: 'int', section, meaning: 'Days that rotated files are kept.' },
    'audit-log-maxbackup': { type: 'int', section, meaning: 'Rotated files that are kept.' },
    'audit-log-maxsize': { type: 'int', section, meaning: 'Megabytes of a file before it is rotated.' },
    'audit-log-mode': {
      type: 'string',
      default: 'blocking',
      choices: auditModes,
      section,
      meaning: 'Whether requests wait for their events: batch, blocking or blocking-strict.',
    },
    'audit-log-path': {
      type: 'string',
      section,
      meaning: 'File of the audit log; - for standard output. Empty: no audit log.',
    },
    'audit-log-truncate-enabled': {
      type: 'bool',
      section,
      meaning: 'Truncate events and split batches that are too large.',
    },
    'audit-log-truncate-max-batch-size': {
      type: 'int',
      default: 10_485_760,
      section,
      meaning: 'Largest batch, in bytes.',
    },
    'audit-log-truncate-max-event-size': {
      type: 'int',
      default: 102_400,
      section,
      meaning: 'Largest event, in bytes.',
    },
    'audit-log-version': {
      type: 'string',
      default: version,
      choices: [version],
      section,
      meaning: 'Group and version of the events.',
    },
    'audit-policy-file': {
      type: 'string',
      section,
      meaning: 'Audit policy: which requests are recorded, and how much of them.',
    },
    'audit-webhook-batch-buffer-size': {
      type: 'int',
      default: 10_000,
      section,
      meaning: 'Most events that wait to be sent to the audit webhook.',
    },
    'audit-webhook-batch-max-size': { type: 'int', default: 400, section, meaning: 'Most events in a batch.' },
    'audit-webhook-batch-max-wait': {
      type: 'duration',
      default: 30_000,
      section,
      meaning: 'Longest time until an incomplete batch is written.',
    },
    'audit-webhook-batch-throttle-burst': {
      type: 'int',
      default: 15,
      section,
      meaning: 'Batches in a burst above the rate.',
    },
    'audit-webhook-batch-throttle-enable': {
      type: 'bool',
      default: true,
      section,
      meaning: 'Limit the rate of batches.',
    },
    'audit-webhook-batch-throttle-qps': { type: 'float', default: 10, section, meaning: 'Batches per second.' },
    'audit-webhook-config-file': { type: 'string', section, meaning: 'Kubeconfig file of the audit webhook.' },
    'audit-webhook-initial-backoff': {
      aliases: ['audit-webhook-batch-initial-backoff'],
      type: 'duration',
      default: 10_000,
      section,
      meaning: 'Delay before the first retry of a call to the audit webhook.',
    },
    'audit-webhook-mode': {
      type: 'string',
      default: 'batch',
      choices: auditModes,
      section,
      meaning: 'Whether requests wait for their events: batch, blocking or blocking-strict.',
    },
    'audit-webhook-truncate-enabled': {
      type: 'bool',
      section,
      meaning: 'Truncate events and split batches that are too large.',
    },
    'audit-webhook-truncate-max-batch-size': {
      type: 'int',
      default: 10_485_760,
      section,
      meaning: 'Largest batch, in bytes.',
    },
    'audit-webhook-truncate-max-event-size': {
      type: 'int',
      default: 102_400,
      section,
      meaning: 'Largest event, in bytes.',
    },
    'audit-webhook-version': {
      type: 'string',
      default: version,
      choices: [version],
      section,
      meaning: 'Group and version of the events.',
    },
  } as const satisfies OptionTable;
}
