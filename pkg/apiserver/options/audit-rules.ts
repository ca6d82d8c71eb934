/** What 1.24 refuses about auditing. */
import type { ApiServerValues } from '#apiserver/options/options.js';
import type { Rule } from '#daemon/options/validate.js';

export const auditRules: Rule<ApiServerValues> = (values) => [
  ...(['audit-log', 'audit-webhook'] as const).flatMap((backend) => backendErrors(values, backend)),
  ...(['audit-log-maxage', 'audit-log-maxbackup', 'audit-log-maxsize'] as const)
    .filter((name) => values[name] < 0)
    .map((name) => `--${name} can't be a negative number`),
];

function backendErrors(values: ApiServerValues, backend: 'audit-log' | 'audit-webhook'): string[] {
  const messages: string[] = [];
  if (values[`${backend}-mode`] === 'batch') {
    const buffer = values[`${backend}-batch-buffer-size`];
    const batch = values[`${backend}-batch-max-size`];
    if (buffer <= 0) messages.push(`--${backend}-batch-buffer-size must be greater than zero`);
    if (batch <= 0) messages.push(`--${backend}-batch-max-size must be greater than zero`);
    if (buffer < batch) {
      messages.push(
        `--${backend}-batch-buffer-size (${buffer}) must not be less than --${backend}-batch-max-size (${batch})`,
      );
    }
    if (values[`${backend}-batch-throttle-enable`]) {
      if (values[`${backend}-batch-throttle-qps`] <= 0) {
        messages.push(`--${backend}-batch-throttle-qps must be greater than zero`);
      }
      if (values[`${backend}-batch-throttle-burst`] <= 0) {
        messages.push(`--${backend}-batch-throttle-burst must be greater than zero`);
      }
    }
  }
  if (values[`${backend}-truncate-enabled`]) {
    const event = values[`${backend}-truncate-max-event-size`];
    const batch = values[`${backend}-truncate-max-batch-size`];
    if (event <= 0 || batch < event) {
      messages.push(
        `--${backend}-truncate-max-event-size (${event}) must be above zero and not above --${backend}-truncate-max-batch-size (${batch})`,
      );
    }
  }
  return messages;
}
