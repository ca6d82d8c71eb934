/** The node agent's options: one table, from which parsing, help and validation come. */
import { featureGateOptions, featureGateRules } from '#daemon/options/groups/feature-gates.js';
import { genericOptions } from '#daemon/options/groups/generic.js';
import { legacyLoggingOptions } from '#daemon/options/groups/legacy-logging.js';
import { loggingOptions, loggingRules } from '#daemon/options/groups/logging.js';
import type { OptionTable, OptionValues } from '#daemon/options/option.js';
import { between, notNegative, positive, type Rule } from '#daemon/options/validate.js';
import { generalOptions } from '#nodeagent/options/general.js';
import { podsOptions } from '#nodeagent/options/pods.js';
import { resourcesOptions } from '#nodeagent/options/resources.js';
import { servingOptions } from '#nodeagent/options/serving.js';

export const nodeAgentOptions = {
  ...genericOptions,
  ...generalOptions,
  ...servingOptions,
  ...resourcesOptions,
  ...podsOptions,
  ...featureGateOptions,
  ...loggingOptions,
  ...legacyLoggingOptions,
} as const satisfies OptionTable;

export type NodeAgentOptions = OptionValues<typeof nodeAgentOptions>;

export const nodeAgentRules: readonly Rule<NodeAgentOptions>[] = [
  featureGateRules,
  loggingRules,
  between('port', 0, 65_535),
  between('healthz-port', 0, 65_535),
  between('read-only-port', 0, 65_535),
  between('oom-score-adj', -1000, 1000),
  between('image-gc-high-threshold', 0, 100),
  between('image-gc-low-threshold', 0, 100),
  notNegative('max-pods'),
  notNegative('pods-per-core'),
  positive('node-lease-duration-seconds'),
  (values) => (values['node-status-max-images'] < -1 ? ['--node-status-max-images must be -1 or more'] : []),
  (values) => (values['container-log-max-files'] < 2 ? ['--container-log-max-files must be at least 2'] : []),
  (values) =>
    values['image-gc-low-threshold'] > values['image-gc-high-threshold']
      ? ['--image-gc-low-threshold must not be above --image-gc-high-threshold']
      : [],
  (values) => parseEvictionThresholds(values['eviction-hard']).errors.map((text) => `--eviction-hard: ${text}`),
  (values) =>
    values['register-with-taints'].flatMap((text) =>
      parseTaint(text) === undefined
        ? [`--register-with-taints: ${JSON.stringify(text)} is not of the form key=value:effect`]
        : [],
    ),
];

/** `memory.available<100Mi,nodefs.available<10%` by signal. */
export function parseEvictionThresholds(text: string): { thresholds: Record<string, string>; errors: string[] } {
  const thresholds: Record<string, string> = {};
  const errors: string[] = [];
  for (const part of text.split(',').filter((item) => item !== '')) {
    const match = /^([a-zA-Z.]+)<([0-9.]+(%|[a-zA-Z]*))$/.exec(part);
    if (match?.[1] === undefined || match[2] === undefined)
      errors.push(`${JSON.stringify(part)} is not of the form signal<quantity`);
    else thresholds[match[1]] = match[2];
  }
  return { thresholds, errors };
}

/** `key=value:effect`, `key:effect`; undefined for anything else. */
export function parseTaint(text: string): { key: string; value?: string; effect: string } | undefined {
  const match = /^([^=:]+)(?:=([^:]*))?:(NoSchedule|PreferNoSchedule|NoExecute)$/.exec(text);
  if (match?.[1] === undefined || match[3] === undefined) return undefined;
  const value = match[2] ?? '';
  return value === '' ? { key: match[1], effect: match[3] } : { key: match[1], value, effect: match[3] };
}
