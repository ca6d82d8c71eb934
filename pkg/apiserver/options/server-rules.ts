/** Checks of request handling and of the server's identity, as in 1.24. */
import { dialectByName } from '#apimachinery/dialect.js';
import { quoted } from '#apimachinery/errors/message-values.js';
import { patternError } from '#apimachinery/patterns/pattern.js';
import { runtimeConfigErrors } from '#apiserver/options/api-enablement.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import { requestHeaderRules } from '#daemon/options/groups/authentication.js';
import type { Rule } from '#daemon/options/validate.js';

type NumberOption = {
  [K in keyof ApiServerValues]: ApiServerValues[K] extends number ? K : never;
}[keyof ApiServerValues];

/**
 * Release 1.24 has messages for the first five options, but its kube-apiserver never checks them: it then serves nothing or
 * never stops. It does not check the other options.
 */
const notNegative: readonly (readonly [name: NumberOption, article: 'a ' | ''])[] = [
  ['livez-grace-period', 'a '],
  ['max-requests-inflight', ''],
  ['max-mutating-requests-inflight', ''],
  ['request-timeout', ''],
  ['min-request-timeout', ''],
  ['shutdown-delay-duration', ''],
  ['etcd-compaction-interval', 'a '],
  ['etcd-count-metric-poll-period', 'a '],
  ['etcd-db-metric-poll-interval', 'a '],
];

const positive: readonly NumberOption[] = [
  'delete-collection-workers',
  'etcd-healthcheck-timeout',
  'event-ttl',
  'lease-reuse-duration-seconds',
  'metric-resolution',
  'nodeagent-timeout',
];

const maxGoawayChance = 0.02;
const highestPort = 65_535;

/** Limit of workers: no machine gains by more. */
const maxWorkers = 64;

/** Checks that 1.24 does not have. */
export const strictRules: Rule<ApiServerValues> = (values) => [
  ...(values.workers > maxWorkers ? [`--workers can not be more than ${maxWorkers}`] : []),
  ...notNegative
    .filter(([name]) => values[name] < 0)
    .map(([name, article]) => `--${name} can not be ${article}negative value`),
  ...positive.filter((name) => values[name] <= 0).map((name) => `--${name} must be greater than zero`),
  ...(values['request-timeout'] === 0 ? ['--request-timeout must be greater than zero'] : []),
  ...requestErrors(values),
];

function requestErrors(values: ApiServerValues): string[] {
  const messages: string[] = [];
  const chance = values['goaway-chance'];
  if (chance < 0 || chance > maxGoawayChance) {
    messages.push(`--goaway-chance can not be less than 0 or greater than ${maxGoawayChance}`);
  }
  for (const origin of values['cors-allowed-origins']) {
    const fault = patternError(origin);
    if (fault !== undefined) {
      messages.push(`--cors-allowed-origins: ${quoted(origin)} is not a regular expression: ${fault}`);
    }
  }
  messages.push(...values['strict-transport-security-directives'].flatMap(transportSecurityErrors));
  if (values['nodeagent-port'] < 1 || values['nodeagent-port'] > highestPort) {
    messages.push(`--nodeagent-port ${values['nodeagent-port']} must be between 1 and ${highestPort}, inclusive`);
  }
  return messages;
}

function transportSecurityErrors(directive: string): string[] {
  if (directive.trim() === '') return ['empty value in strict-transport-security-directives'];
  if (directive === 'includeSubDomains' || directive === 'preload' || /^max-age=[^=]*$/.test(directive)) return [];
  const allowed = 'allowed values: max-age=expireTime, includeSubDomains, preload';
  return [
    `--strict-transport-security-directives invalid, ${allowed}. see https://tools.ietf.org/html/rfc6797#section-6.1 for more information`,
  ];
}

const positiveWords = (name: 'apiserver-count' | IdentityOption, value: number): string[] =>
  value > 0 ? [] : [`--${name} should be a positive number, but value '${value}' provided`];

type IdentityOption = 'identity-lease-duration-seconds' | 'identity-lease-renew-interval-seconds';

export const countRule: Rule<ApiServerValues> = (values) => positiveWords('apiserver-count', values['apiserver-count']);

export const identityRules: Rule<ApiServerValues> = (values) =>
  (['identity-lease-duration-seconds', 'identity-lease-renew-interval-seconds'] as const).flatMap((name) =>
    positiveWords(name, values[name]),
  );

/** Fairness needs the API of its configuration. The first key that is set decides whether that is served. */
export const fairnessRule: Rule<ApiServerValues> = (values) => {
  if (!values['enable-priority-and-fairness'] || values['feature-gates']['APIPriorityAndFairness'] === false) return [];
  const group = dialectByName(values.dialect).groupName('flowcontrol');
  for (const key of [`${group}/v1beta2`, `${group}/v1beta1`, 'api/beta', 'api/all']) {
    const value = values['runtime-config'][key];
    if (value === 'true') return [];
    if (value === 'false') {
      return [
        `--runtime-config=${key}=false conflicts with --enable-priority-and-fairness=true and --feature-gates=APIPriorityAndFairness=true`,
      ];
    }
  }
  return [];
};

export const enablementRule: Rule<ApiServerValues> = (values) => runtimeConfigErrors(values['runtime-config']);

export const headerRules: Rule<ApiServerValues> = requestHeaderRules;

/** Checks both limits together: fairness distributes their sum. */
export const limitsRule: Rule<ApiServerValues> = (values) => {
  const [reads, writes] = [values['max-requests-inflight'], values['max-mutating-requests-inflight']];
  if (!values['enable-priority-and-fairness'] || reads + writes > 0) return [];
  const both = `MaxRequestsInFlight=${reads} and MaxMutatingRequestsInFlight=${writes}`;
  return [`invalid configuration: ${both}; they must add up to something positive`];
};
