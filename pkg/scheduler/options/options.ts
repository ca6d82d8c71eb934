/** The scheduler's options (specification 2, 2.2). Their defaults depend on the dialect. */
import type { Dialect } from '#apimachinery/dialect.js';
import { withDialectNames } from '#daemon/options/dialect-names.js';
import { delegatedAuthOptions, delegatedAuthRules } from '#daemon/options/groups/authentication.js';
import { burstRule, clientConnectionOptions } from '#daemon/options/groups/client-connection.js';
import { debuggingOptions } from '#daemon/options/groups/debugging.js';
import { featureGateOptions, featureGateRules } from '#daemon/options/groups/feature-gates.js';
import { genericOptions } from '#daemon/options/groups/generic.js';
import { leaderElectionOptions, leaderElectionRules } from '#daemon/options/groups/leader-election.js';
import { legacyLoggingOptions, loggingOptions, loggingRules } from '#daemon/options/groups/logging.js';
import { metricsOptions, metricsRules } from '#daemon/options/groups/metrics.js';
import { servingOptions, servingRules, tlsRules } from '#daemon/options/groups/serving.js';
import { tracingOptions } from '#daemon/options/groups/tracing.js';
import type { OptionDeclaration, OptionTable, OptionValues } from '#daemon/options/option.js';
import { allOf, inOrder, type Rule } from '#daemon/options/validate.js';

/** Marks options as replaced by the configuration file. */
function deprecate<T extends OptionTable>(table: T): T {
  const text = 'set it in the --config file, which overrides this option';
  const entries = Object.entries(table).map(([name, d]): [string, OptionDeclaration] => [
    name,
    { ...d, deprecated: text },
  ]);
  return Object.fromEntries(entries) as unknown as T;
}

/** Adds the configuration file's field names. */
function withFields<T extends OptionTable>(table: T, fields: { readonly [K in keyof T]?: string }): T {
  const entries = Object.entries(table).map(([name, d]): [string, OptionDeclaration] => {
    const configField = fields[name];
    return [name, configField === undefined ? d : { ...d, configField }];
  });
  return Object.fromEntries(entries) as unknown as T;
}

/** Options without effect when a configuration file is set. */
export const ignoredWithConfig = [
  'profiling',
  'contention-profiling',
  'orchconfig',
  'orch-api-qps',
  'orch-api-burst',
  'orch-api-content-type',
  'lock-object-name',
  'lock-object-namespace',
] as const;

export function schedulerOptions(dialect: Dialect) {
  const lock = { resourceName: dialect.components.scheduler, resourceNamespace: dialect.namespaces.system };
  const { master, ...connection } = clientConnectionOptions({
    qps: 50,
    burst: 100,
    contentType: dialect.protobufMediaType,
  });
  const table = {
    ...genericOptions,
    ...servingOptions({ securePort: 10_259 }),
    ...delegatedAuthOptions({ tolerateLookupFailure: true }),
    ...withFields(leaderElectionOptions(lock), {
      'leader-elect': 'leaderElection.leaderElect',
      'leader-elect-lease-duration': 'leaderElection.leaseDuration',
      'leader-elect-renew-deadline': 'leaderElection.renewDeadline',
      'leader-elect-retry-period': 'leaderElection.retryPeriod',
      'leader-elect-resource-lock': 'leaderElection.resourceLock',
      'leader-elect-resource-name': 'leaderElection.resourceName',
      'leader-elect-resource-namespace': 'leaderElection.resourceNamespace',
    }),
    ...loggingOptions,
    ...legacyLoggingOptions,
    ...metricsOptions,
    ...tracingOptions,
    ...featureGateOptions,
    ...withFields(
      deprecate({
        ...debuggingOptions,
        'contention-profiling': { ...debuggingOptions['contention-profiling'], default: true },
      }),
      {
        profiling: 'enableProfiling',
        'contention-profiling': 'enableContentionProfiling',
      },
    ),
    ...withFields(deprecate(connection), {
      orchconfig: 'clientConnection.orchconfig',
      'orch-api-qps': 'clientConnection.qps',
      'orch-api-burst': 'clientConnection.burst',
      'orch-api-content-type': 'clientConnection.contentType',
    }),
    master,
    config: {
      type: 'string',
      section: 'Configuration',
      meaning: `Configuration file, of kind ${dialect.schedulerConfig.kind}. Leader election options override it.`,
    },
    'write-config-to': {
      type: 'string',
      section: 'Configuration',
      meaning: 'Write the effective configuration to this file and exit.',
    },
    'lock-object-name': {
      type: 'string',
      default: lock.resourceName,
      section: 'Deprecated',
      meaning: 'Name of the leader election lock.',
      deprecated: 'use --leader-elect-resource-name',
    },
    'lock-object-namespace': {
      type: 'string',
      default: lock.resourceNamespace,
      section: 'Deprecated',
      meaning: 'Namespace of the leader election lock.',
      deprecated: 'use --leader-elect-resource-namespace',
    },
    'pod-max-in-unschedulable-pods-duration': {
      type: 'duration',
      min: 0,
      default: 300_000,
      section: 'Deprecated',
      meaning: 'Longest time that an unschedulable pod waits before it is retried.',
      deprecated: 'it will be removed in 1.26',
    },
    'vendor-container-registry-config': {
      type: 'string',
      section: 'Deprecated',
      meaning: 'Configuration file of a container registry service.',
      inert: 'only node agents use registries, and no vendor service is built in',
    },
  } as const satisfies OptionTable;
  return withDialectNames(table, dialect);
}

export type SchedulerOptionTable = ReturnType<typeof schedulerOptions>;
export type SchedulerOptionValues = OptionValues<SchedulerOptionTable>;

export const schedulerRules: readonly Rule<SchedulerOptionValues>[] = [
  inOrder<SchedulerOptionValues>(
    loggingRules,
    allOf<SchedulerOptionValues>(servingRules, delegatedAuthRules, metricsRules, featureGateRules),
    tlsRules,
    burstRule,
    leaderElectionRules("couldn't create resource lock"),
  ),
];
