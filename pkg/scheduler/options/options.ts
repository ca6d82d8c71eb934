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

/** Options that a configuration file replaces. */
function deprecate<T extends OptionTable>(table: T): T {
  const text = 'give it in the file of --config, which this option does not override';
  const entries = Object.entries(table).map(([name, d]): [string, OptionDeclaration] => [
    name,
    { ...d, deprecated: text },
  ]);
  return Object.fromEntries(entries) as unknown as T;
}

/** Names the fields of the configuration file. */
function withFields<T extends OptionTable>(table: T, fields: { readonly [K in keyof T]?: string }): T {
  const entries = Object.entries(table).map(([name, d]): [string, OptionDeclaration] => {
    const configField = fields[name];
    return [name, configField === undefined ? d : { ...d, configField }];
  });
  return Object.fromEntries(entries) as unknown as T;
}

/** Options that count for nothing once there is a configuration file. */
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
      meaning: `Configuration file, of kind ${dialect.schedulerConfig.kind}. Options of leader election win over it.`,
    },
    'write-config-to': {
      type: 'string',
      section: 'Configuration',
      meaning: 'Write the configuration in force to this file and exit.',
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
      meaning: 'Longest time that a pod waits as unschedulable before it is tried again.',
      deprecated: 'it will be removed in 1.26',
    },
    'vendor-container-registry-config': {
      type: 'string',
      section: 'Deprecated',
      meaning: 'Configuration file of a container registry service.',
      inert: 'only node agents ask registries, and no vendor’s service is built in',
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
