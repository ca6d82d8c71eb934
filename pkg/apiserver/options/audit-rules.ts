/** What 1.24 refuses about auditing: the first fault of each part of a backend that is on. */

import { dialectByName } from '#apimachinery/dialect.js';
import { quoted } from '#apimachinery/errors/shown.js';
import { auditModes } from '#apiserver/options/audit.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import type { Rule } from '#daemon/options/validate.js';

export const auditRules: Rule<ApiServerValues> = (values) => [
  ...((values['audit-log-path'] ?? '') === '' ? [] : [...backendErrors(values, 'log'), ...fileErrors(values)]),
  ...((values['audit-webhook-config-file'] ?? '') === '' ? [] : backendErrors(values, 'webhook')),
];

type Backend = 'log' | 'webhook';

function backendErrors(values: ApiServerValues, backend: Backend): string[] {
  const parts = [batchError(values, backend), truncateError(values, backend), versionError(values, backend)];
  return parts.filter((message) => message !== undefined);
}

function batchError(values: ApiServerValues, backend: Backend): string | undefined {
  const mode = values[`audit-${backend}-mode`];
  if (!auditModes.some((each) => each === mode)) {
    return `invalid audit ${backend} mode ${mode}, allowed modes are ${quoted(auditModes.join(','))}`;
  }
  if (mode !== 'batch') return undefined;
  const throttled = values[`audit-${backend}-batch-throttle-enable`];
  const numbers: readonly (readonly [what: string, value: number])[] = [
    ['buffer size', values[`audit-${backend}-batch-buffer-size`]],
    ['max batch size', values[`audit-${backend}-batch-max-size`]],
    ...(throttled
      ? ([
          ['throttle QPS', values[`audit-${backend}-batch-throttle-qps`]],
          ['throttle burst', values[`audit-${backend}-batch-throttle-burst`]],
        ] as const)
      : []),
  ];
  const [what, value] = numbers.find(([, number]) => number <= 0) ?? [];
  return what && `invalid audit batch ${backend} ${what} ${value}, must be a positive number`;
}

function truncateError(values: ApiServerValues, backend: Backend): string | undefined {
  const event = values[`audit-${backend}-truncate-max-event-size`];
  const batch = values[`audit-${backend}-truncate-max-batch-size`];
  const what = `invalid audit truncate ${backend} max`;
  if (event <= 0) return `${what} event size ${event}, must be a positive number`;
  return batch < event ? `${what} batch size ${batch}, must be greater than max event size (${event})` : undefined;
}

function versionError(values: ApiServerValues, backend: Backend): string | undefined {
  const given = values[`audit-${backend}-version`];
  if (given.split('/').length > 2) return `unexpected GroupVersion string: ${given}`;
  const version = `audit.${dialectByName(values.dialect).apiDomain}/v1`;
  return given === version ? undefined : `invalid group version, allowed versions are [${quoted(version)}]`;
}

function fileErrors(values: ApiServerValues): string[] {
  const format = values['audit-log-format'];
  return [
    ...(format === 'legacy' || format === 'json'
      ? []
      : [`invalid audit log format ${format}, allowed formats are "legacy,json"`]),
    ...(['audit-log-maxage', 'audit-log-maxbackup', 'audit-log-maxsize'] as const)
      .filter((name) => values[name] < 0)
      .map((name) => `--${name} ${values[name]} can't be a negative number`),
  ];
}
