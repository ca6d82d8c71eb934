/** The options of the controller manager. */
import type { Dialect } from '#apimachinery/dialect.js';
import { controlLoopOptions, controlLoopRules } from '#control-loop/options.js';
import { controllerNames, gatedControllers, unknownControllers } from '#controllers/options/names.js';
import { nodeOptions, nodeRules } from '#controllers/options/nodes.js';
import { signingOptions, signingRules } from '#controllers/options/signing.js';
import { autoscalerOptions, flexVolumeOptions, volumeOptions } from '#controllers/options/volumes.js';
import { withDialectNames } from '#daemon/options/dialect-names.js';
import { burstRule } from '#daemon/options/groups/client-connection.js';
import { FeatureGates, featureGateOptions, featureGateRules } from '#daemon/options/groups/feature-gates.js';
import { leaderElectionRules } from '#daemon/options/groups/leader-election.js';
import { loggingRules } from '#daemon/options/groups/logging.js';
import { tlsRules } from '#daemon/options/groups/serving.js';
import type { OptionTable, OptionValues } from '#daemon/options/option.js';
import { type ParsedOptions, parseOptions } from '#daemon/options/parse.js';
import { allOf, inOrder, type Rule, validateOptions } from '#daemon/options/validate.js';

const section = 'Controllers';

/** Options that select controllers. */
const selectionOptions = {
  controllers: {
    type: 'strings',
    default: ['*'],
    section,
    meaning: `Controllers to run: * selects all that are on by default, name adds one, -name removes one. Known: ${Object.keys(controllerNames).join(', ')}. Off by default: bootstrapsigner, tokencleaner.`,
  },
  'controller-start-interval': {
    type: 'duration',
    min: 0,
    section,
    meaning: 'Pause between the starts of controllers.',
  },
  'min-resync-period': {
    type: 'duration',
    min: 0,
    default: 43_200_000,
    section,
    meaning: 'Minimum resync interval; the actual interval is up to twice as long. 0: no resync.',
  },
  'enable-leader-migration': {
    type: 'bool',
    section: 'Leader election',
    meaning: 'Migrate controllers between managers so that exactly one manager runs them at any time.',
  },
  'leader-migration-config': {
    type: 'string',
    section: 'Leader election',
    meaning: 'File that assigns controllers to managers; empty uses the default configuration.',
  },
} as const satisfies OptionTable;

/** Options whose defaults depend on the dialect. */
function clusterNameOptions(dialect: Dialect) {
  return {
    'cluster-name': {
      type: 'string',
      default: dialect.product,
      section,
      meaning: "Prefix of the cluster's instances.",
    },
  } as const satisfies OptionTable;
}

const concurrency = 'Concurrency';

function syncs<const D extends number>(defaultValue: D, what: string) {
  return {
    type: 'int',
    default: defaultValue,
    section: concurrency,
    meaning: `${what} reconciled concurrently.`,
  } as const;
}

const concurrencyOptions = {
  'concurrent-deployment-syncs': syncs(5, 'Deployments'),
  'concurrent-endpoint-syncs': syncs(5, 'Services whose endpoints are'),
  'concurrent-ephemeralvolume-syncs': syncs(5, 'Ephemeral volumes'),
  'concurrent-gc-syncs': syncs(20, 'Garbage objects'),
  'concurrent-namespace-syncs': syncs(10, 'Namespaces'),
  'concurrent-rc-syncs': syncs(5, 'Replication controllers'),
  'concurrent-replicaset-syncs': syncs(5, 'Replica sets'),
  'concurrent-resource-quota-syncs': syncs(5, 'Resource quotas'),
  'concurrent-service-endpoint-syncs': syncs(5, 'Services whose endpoint slices are'),
  'concurrent-service-syncs': syncs(1, 'Services'),
  'concurrent-serviceaccount-token-syncs': syncs(5, 'Service account tokens'),
  'concurrent-statefulset-syncs': syncs(5, 'Stateful sets'),
  'concurrent-ttl-after-finished-syncs': syncs(5, 'Finished jobs'),
  'mirroring-concurrent-service-endpoint-syncs': syncs(5, 'Mirrored endpoints'),
} as const satisfies OptionTable;

/** The table with the dialect's option names. */
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

/** Limits of the endpoint slice controllers, in the order of 1.24's checks. */
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

/** 1.24 would start without workers and do nothing. */
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

/** Values for a manager inside another process: the defaults with overrides. Throws OptionsError. */
export function controllerManagerValues(
  dialect: Dialect,
  overrides: Partial<ControllerManagerValues> = {},
): ControllerManagerValues {
  const table = controllerManagerOptions(dialect);
  const parsed = parseOptions(table, [], { program: dialect.components.controllerManager });
  if (parsed.kind !== 'run') throw new TypeError('expected an empty command line to run the program');
  const values = { ...parsed.values, ...overrides } as ControllerManagerValues;
  const options: Pick<ParsedOptions<ControllerManagerOptionTable>, 'values' | 'given'> = {
    values,
    given: new Set(Object.keys(overrides)),
  };
  validateOptions(options, controllerManagerRules);
  return Object.freeze(values);
}

const idle = {
  section: 'Deprecated',
  inert: 'release 1.24 does nothing with it, either',
  deprecated: 'it does nothing and will be deleted.',
} as const;

/** Options without effect in 1.24. */
export const deprecatedOptions = {
  'allow-untagged-cloud': {
    ...idle,
    inert: 'a cloud module decides itself which instances it works on',
    type: 'bool',
    meaning: 'Run on cloud instances without the cluster’s tag.',
  },
  'cloud-provider-gce-lb-src-cidrs': { ...idle, type: 'strings', meaning: 'Source ranges of cloud load balancers.' },
  'deleting-pods-burst': { ...idle, type: 'int', meaning: 'Burst of deletions of pods on failed nodes.' },
  'deleting-pods-qps': { ...idle, type: 'float', default: 0.1, meaning: 'Nodes per second whose pods are deleted.' },
  'horizontal-pod-autoscaler-downscale-delay': { ...idle, type: 'duration', meaning: 'Pause between scale-downs.' },
  'horizontal-pod-autoscaler-upscale-delay': { ...idle, type: 'duration', meaning: 'Pause between scale-ups.' },
  'node-sync-period': { ...idle, type: 'duration', meaning: 'Interval between syncs with the cloud’s nodes.' },
  'register-retry-count': { ...idle, type: 'int', default: 10, meaning: 'Attempts to register a node.' },
} as const satisfies OptionTable;
