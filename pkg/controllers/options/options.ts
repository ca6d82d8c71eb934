/** The controller manager's options, all in one table. */
import type { Dialect } from '#apimachinery/dialect.js';
import { unknownControllers } from '#controllers/names.js';
import { nodeOptions, nodeRules } from '#controllers/options/nodes.js';
import { clusterNameOptions, concurrencyOptions, selectionOptions } from '#controllers/options/selection.js';
import { signingOptions, signingRules } from '#controllers/options/signing.js';
import { autoscalerOptions, flexVolumeOptions, volumeOptions } from '#controllers/options/volumes.js';
import { withDialectNames } from '#daemon/options/dialect-names.js';
import { delegatedAuthOptions, delegatedAuthRules } from '#daemon/options/groups/authentication.js';
import { clientConnectionOptions } from '#daemon/options/groups/client-connection.js';
import { debuggingOptions } from '#daemon/options/groups/debugging.js';
import { featureGateOptions, featureGateRules } from '#daemon/options/groups/feature-gates.js';
import { genericOptions } from '#daemon/options/groups/generic.js';
import { leaderElectionOptions, leaderElectionRules } from '#daemon/options/groups/leader-election.js';
import { loggingOptions, loggingRules } from '#daemon/options/groups/logging.js';
import { metricsOptions, metricsRules } from '#daemon/options/groups/metrics.js';
import { servingOptions, servingRules } from '#daemon/options/groups/serving.js';
import type { OptionValues } from '#daemon/options/option.js';
import { type ParsedOptions, parseOptions } from '#daemon/options/parse.js';
import { type Rule, validateOptions } from '#daemon/options/validate.js';

/** The table in the words of the dialect, which also answers to the dialect's own option names. */
export function controllerManagerOptions(dialect: Dialect) {
  const table = {
    ...genericOptions,
    ...selectionOptions,
    ...clusterNameOptions(dialect),
    ...concurrencyOptions,
    ...nodeOptions,
    ...volumeOptions,
    ...flexVolumeOptions(dialect),
    ...autoscalerOptions,
    ...signingOptions,
    ...clientConnectionOptions({ qps: 20, burst: 30, contentType: dialect.protobufMediaType }),
    ...leaderElectionOptions({
      resourceName: dialect.components.controllerManager,
      resourceNamespace: dialect.namespaces.system,
    }),
    ...servingOptions({ securePort: 10_257 }),
    ...delegatedAuthOptions({ tolerateLookupFailure: false }),
    ...debuggingOptions,
    ...metricsOptions,
    ...featureGateOptions,
    ...loggingOptions,
  };
  return withDialectNames(table, dialect);
}

export type ControllerManagerOptionTable = ReturnType<typeof controllerManagerOptions>;
export type ControllerManagerValues = OptionValues<ControllerManagerOptionTable>;

const selectionRule: Rule<Pick<ControllerManagerValues, 'controllers'>> = ({ controllers }) =>
  unknownControllers(controllers);

const concurrencyRule: Rule<ControllerManagerValues> = (values) =>
  Object.keys(concurrencyOptions)
    .filter((name) => values[name as keyof typeof concurrencyOptions] < 1)
    .map((name) => `--${name} must be greater than zero`);

export const controllerManagerRules: readonly Rule<ControllerManagerValues>[] = [
  selectionRule,
  concurrencyRule,
  nodeRules,
  signingRules,
  leaderElectionRules,
  servingRules,
  delegatedAuthRules,
  metricsRules,
  featureGateRules,
  loggingRules,
];

/** Values for a manager inside another process: the defaults, with what is given. Throws OptionsError. */
export function controllerManagerValues(
  dialect: Dialect,
  overrides: Partial<ControllerManagerValues> = {},
): ControllerManagerValues {
  const table = controllerManagerOptions(dialect);
  const parsed = parseOptions(table, [], { program: dialect.components.controllerManager });
  if (parsed.kind !== 'run') throw new TypeError('no arguments ask for neither help nor version');
  const values = { ...parsed.values, ...overrides } as ControllerManagerValues;
  const options: Pick<ParsedOptions<ControllerManagerOptionTable>, 'values' | 'given'> = {
    values,
    given: new Set(Object.keys(overrides)),
  };
  validateOptions(options, controllerManagerRules);
  return Object.freeze(values);
}
