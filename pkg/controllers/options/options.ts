/** The controller manager's options, all in one table. */
import type { Dialect } from '#apimachinery/dialect.js';
import { controlLoopOptions, controlLoopRules } from '#control-loop/options.js';
import { deprecatedOptions } from '#controllers/options/deprecated.js';
import { gatedControllers, unknownControllers } from '#controllers/options/names.js';
import { nodeOptions, nodeRules } from '#controllers/options/nodes.js';
import { clusterNameOptions, concurrencyOptions, selectionOptions } from '#controllers/options/selection.js';
import { signingOptions, signingRules } from '#controllers/options/signing.js';
import { autoscalerOptions, flexVolumeOptions, volumeOptions } from '#controllers/options/volumes.js';
import { withDialectNames } from '#daemon/options/dialect-names.js';
import { burstRule } from '#daemon/options/groups/client-connection.js';
import { FeatureGates, featureGateOptions, featureGateRules } from '#daemon/options/groups/feature-gates.js';
import { leaderElectionRules } from '#daemon/options/groups/leader-election.js';
import { loggingRules } from '#daemon/options/groups/logging.js';
import { tlsRules } from '#daemon/options/groups/serving.js';
import type { OptionValues } from '#daemon/options/option.js';
import { type ParsedOptions, parseOptions } from '#daemon/options/parse.js';
import { allOf, inOrder, type Rule, validateOptions } from '#daemon/options/validate.js';

/** The table in the words of the dialect, which also answers to the dialect's own option names. */
export function controllerManagerOptions(dialect: Dialect) {
  const table = {
    ...controlLoopOptions(dialect, { name: dialect.components.controllerManager, securePort: 10_257 }),
    ...selectionOptions,
    ...clusterNameOptions(dialect),
    ...concurrencyOptions,
    ...nodeOptions,
    ...volumeOptions,
    ...flexVolumeOptions(dialect),
    ...autoscalerOptions,
    ...signingOptions,
    ...featureGateOptions,
    ...deprecatedOptions,
  };
  return withDialectNames(table, dialect);
}

export type ControllerManagerOptionTable = ReturnType<typeof controllerManagerOptions>;
export type ControllerManagerValues = OptionValues<ControllerManagerOptionTable>;

const selectionRule: Rule<Pick<ControllerManagerValues, 'controllers' | 'feature-gates'>> = (values) =>
  unknownControllers(values.controllers, gatedControllers(new FeatureGates(values['feature-gates'])));

/** Limits of the controllers of endpoint slices, in the order in which 1.24 looks at them. */
const limits = [
  ['concurrent-service-endpoint-syncs', 50],
  ['max-endpoints-per-slice', 1000],
  ['mirroring-concurrent-service-endpoint-syncs', 50],
  ['mirroring-max-endpoints-per-subset', 1000],
] as const;

const limitRule: Rule<ControllerManagerValues> = (values) =>
  limits.flatMap(([name, max]) => {
    const value = values[name];
    if (value < 1) return [`${name} must not be less than 1, but got ${value}`];
    return value > max ? [`${name} must not be more than ${max}, but got ${value}`] : [];
  });

/** 1.24 starts without workers, and then does nothing. */
const concurrencyRule: Rule<ControllerManagerValues> = (values) =>
  Object.keys(concurrencyOptions)
    .filter((name) => values[name as keyof typeof concurrencyOptions] < 1 && !limits.some(([limit]) => limit === name))
    .map((name) => `${name} must be greater than 0, but got ${values[name as keyof typeof concurrencyOptions]}`);

const volumeRule: Rule<ControllerManagerValues> = (values) => {
  const messages: string[] = [];
  if (values['attach-detach-reconcile-sync-period'] <= 1000) {
    messages.push('--attach-detach-reconcile-sync-period must be greater than one second');
  }
  if ((values['external-cloud-volume-plugin'] ?? '') !== '' && values['cloud-provider'] !== 'external') {
    messages.push('--external-cloud-volume-plugin requires --cloud-provider=external');
  }
  return messages;
};

export const controllerManagerRules: readonly Rule<ControllerManagerValues>[] = [
  inOrder<ControllerManagerValues>(
    loggingRules,
    allOf<ControllerManagerValues>(
      selectionRule,
      signingRules,
      limitRule,
      nodeRules,
      volumeRule,
      concurrencyRule,
      ...controlLoopRules,
      featureGateRules,
    ),
    tlsRules,
    burstRule,
    leaderElectionRules('error creating lock'),
  ),
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
