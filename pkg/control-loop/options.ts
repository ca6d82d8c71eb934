/** The options of all control loop daemons, which `createControlLoop` applies. */
import type { Dialect } from '#apimachinery/dialect.js';
import { withDialectNames } from '#daemon/options/dialect-names.js';
import { delegatedAuthOptions, delegatedAuthRules } from '#daemon/options/groups/authentication.js';
import { clientConnectionOptions } from '#daemon/options/groups/client-connection.js';
import { debuggingOptions } from '#daemon/options/groups/debugging.js';
import { genericOptions } from '#daemon/options/groups/generic.js';
import { leaderElectionOptions } from '#daemon/options/groups/leader-election.js';
import { legacyLoggingOptions, loggingOptions } from '#daemon/options/groups/logging.js';
import { metricsOptions, metricsRules } from '#daemon/options/groups/metrics.js';
import { servingOptions, servingRules } from '#daemon/options/groups/serving.js';
import { tracingOptions } from '#daemon/options/groups/tracing.js';
import type { OptionValues } from '#daemon/options/option.js';
import type { Rule } from '#daemon/options/validate.js';

export interface ControlLoopDefaults {
  /** The daemon's name, also the name of its lock. */
  readonly name: string;
  readonly securePort: number;
}

export function controlLoopOptions(dialect: Dialect, { name, securePort }: ControlLoopDefaults) {
  const table = {
    ...genericOptions,
    ...servingOptions({ securePort }),
    ...delegatedAuthOptions({ tolerateLookupFailure: false }),
    ...clientConnectionOptions({ qps: 20, burst: 30, contentType: dialect.protobufMediaType }),
    ...leaderElectionOptions({ resourceName: name, resourceNamespace: dialect.namespaces.system }),
    ...debuggingOptions,
    ...metricsOptions,
    ...loggingOptions,
    ...legacyLoggingOptions,
    ...tracingOptions,
  };
  return withDialectNames(table, dialect);
}

export type ControlLoopOptionTable = ReturnType<typeof controlLoopOptions>;

/** Checks of combinations, as in 1.24. */
export const controlLoopRules: readonly Rule<OptionValues<ControlLoopOptionTable>>[] = [
  servingRules,
  delegatedAuthRules,
  metricsRules,
];
