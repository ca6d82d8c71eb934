/** The available plugins with their arguments, in the default order of release 1.24. */
import type { NodeAffinity } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { FieldTable, Plain } from '#daemon/options/config-decode.js';
import type { FeatureGateName } from '#daemon/options/groups/feature-gate-table.js';
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';
import type { Plugin } from '#scheduler/framework/plugin.js';
import { CsiMigration, csiMigrationGates } from '#scheduler/plugins/csi-migration/csi-migration.js';
import { defaultBinder } from '#scheduler/plugins/default-binder.js';
import { diskKinds, diskLimits, maxDisksOf } from '#scheduler/plugins/disk-limits.js';
import { imageLocality } from '#scheduler/plugins/image-locality.js';
import { interPodAffinity } from '#scheduler/plugins/inter-pod-affinity.js';
import { nodeAffinity } from '#scheduler/plugins/node-affinity.js';
import { nodeName } from '#scheduler/plugins/node-name.js';
import { nodePorts } from '#scheduler/plugins/node-ports.js';
import type { ResourceWeight } from '#scheduler/plugins/node-resources/amounts.js';
import { balancedAllocation } from '#scheduler/plugins/node-resources/balanced-allocation.js';
import { nodeResourcesFit, type ScoringStrategy } from '#scheduler/plugins/node-resources/fit.js';
import { nodeUnschedulable } from '#scheduler/plugins/node-unschedulable.js';
import { nodeVolumeLimits } from '#scheduler/plugins/node-volume-limits.js';
import { type SpreadArgs, systemDefaults } from '#scheduler/plugins/pod-topology-spread/constraints.js';
import { podTopologySpread } from '#scheduler/plugins/pod-topology-spread/plugin.js';
import { selectorSpread } from '#scheduler/plugins/selector-spread.js';
import { taintToleration } from '#scheduler/plugins/taint-toleration.js';
import { volumeBinding } from '#scheduler/plugins/volume-binding/plugin.js';
import { volumeRestrictions } from '#scheduler/plugins/volume-restrictions.js';
import { volumeZone } from '#scheduler/plugins/volume-zone.js';
import { byPriority } from '#scheduler/queue/scheduling-queue.js';

export interface PluginKind {
  readonly name: string;
  /** False: enabled only in profiles that name it. */
  readonly byDefault?: false;
  /** Weight of its score; absent: 1. */
  readonly weight?: number;
  /** Fields of its arguments; absent: it takes none. */
  readonly args?: FieldTable;
  /** Checks the arguments beyond their types and returns messages with field and value. */
  readonly errors?: (args: Plain) => string[];
  /** `args` have been decoded and are valid. */
  readonly make: (args: Plain, dialect: Dialect, context: PluginContext) => Plugin;
}

/** Dependencies of plugins other than arguments. */
export interface PluginContext {
  readonly gates: FeatureGates;
  /** Environment variables. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

export const defaultContext: PluginContext = { gates: new FeatureGates(), env: {} };

/** The feature gates that plugins use. */
export const schedulerGates = [
  'MinDomainsInPodTopologySpread',
  'ReadWriteOncePod',
  ...csiMigrationGates,
] as const satisfies readonly FeatureGateName[];

const resources = { listOf: { fields: { name: 'string', weight: 'int64' }, required: ['name'] } } as const;
const shape = {
  listOf: { fields: { utilization: 'int32', score: 'int32' }, required: ['utilization', 'score'] },
} as const;

export const pluginKinds: readonly PluginKind[] = [
  withoutArgs('PrioritySort', () => ({ name: 'PrioritySort', queueSort: byPriority })),
  withoutArgs('NodeUnschedulable', nodeUnschedulable),
  withoutArgs('NodeName', () => nodeName),
  { ...withoutArgs('TaintToleration', () => taintToleration), weight: 3 },
  {
    name: 'NodeAffinity',
    weight: 2,
    args: { addedAffinity: 'any' },
    make: ({ addedAffinity }) =>
      nodeAffinity(addedAffinity === undefined ? {} : { addedAffinity: addedAffinity as NodeAffinity }),
  },
  withoutArgs('NodePorts', () => nodePorts),
  {
    name: 'NodeResourcesFit',
    args: {
      ignoredResources: { listOf: 'string' },
      ignoredResourceGroups: { listOf: 'string' },
      scoringStrategy: {
        fields: { type: 'string', resources, requestedToCapacityRatio: { fields: { shape }, required: ['shape'] } },
      },
    },
    errors: fitErrors,
    make: ({ ignoredResourceGroups, ignoredResources, scoringStrategy }) =>
      nodeResourcesFit({
        ignoredResources: (ignoredResources ?? []) as string[],
        ignoredResourceGroups: (ignoredResourceGroups ?? []) as string[],
        scoringStrategy: strategyOf((scoringStrategy ?? {}) as StrategyArgs),
      }),
  },
  {
    name: 'VolumeRestrictions',
    make: (_args, _dialect, { gates }) => volumeRestrictions({ singlePods: gates.enabled('ReadWriteOncePod') }),
  },
  diskLimitsOf(diskKinds.ebs),
  diskLimitsOf(diskKinds.gce),
  {
    name: 'NodeVolumeLimits',
    make: (_args, dialect, { gates }) => nodeVolumeLimits(dialect, new CsiMigration(dialect, gates)),
  },
  diskLimitsOf(diskKinds.azure),
  {
    name: 'VolumeBinding',
    args: { bindTimeoutSeconds: 'int64', shape },
    errors: volumeErrors,
    make: ({ bindTimeoutSeconds = 600 }, dialect, { gates }) =>
      volumeBinding(dialect, { bindTimeoutMs: Number(bindTimeoutSeconds) * 1000 }, new CsiMigration(dialect, gates)),
  },
  withoutArgs('VolumeZone', volumeZone),
  {
    name: 'PodTopologySpread',
    weight: 2,
    args: {
      defaultConstraints: {
        listOf: {
          fields: { maxSkew: 'int32', topologyKey: 'string', whenUnsatisfiable: 'string' },
          required: ['maxSkew', 'topologyKey', 'whenUnsatisfiable'],
        },
      },
      defaultingType: 'string',
    },
    errors: spreadErrors,
    make: (args, dialect, { gates }) => podTopologySpread(dialect, spreadArgs(args, dialect, gates)),
  },
  {
    name: 'InterPodAffinity',
    weight: 2,
    args: { hardPodAffinityWeight: 'int32' },
    errors: ({ hardPodAffinityWeight = 1 }) =>
      Number(hardPodAffinityWeight) >= 0 && Number(hardPodAffinityWeight) <= 100
        ? []
        : [`hardPodAffinityWeight: Invalid value: ${hardPodAffinityWeight}: not in valid range [0, 100]`],
    make: ({ hardPodAffinityWeight = 1 }) => interPodAffinity({ hardPodAffinityWeight: Number(hardPodAffinityWeight) }),
  },
  {
    name: 'DefaultPreemption',
    args: { minCandidateNodesPercentage: 'int32', minCandidateNodesAbsolute: 'int32' },
    errors: preemptionErrors,
    make: ({ minCandidateNodesAbsolute = 100, minCandidateNodesPercentage = 10 }) => ({
      name: 'DefaultPreemption',
      preemption: {
        minCandidateNodesPercentage: Number(minCandidateNodesPercentage),
        minCandidateNodesAbsolute: Number(minCandidateNodesAbsolute),
      },
    }),
  },
  {
    name: 'NodeResourcesBalancedAllocation',
    args: { resources },
    errors: ({ resources: weights = [] }) => weightErrors('resources', weights as ResourceWeight[]),
    make: ({ resources: given }) =>
      balancedAllocation(given === undefined ? {} : { resources: withWeights(given as ResourceWeight[]) }),
  },
  withoutArgs('ImageLocality', () => imageLocality),
  withoutArgs('DefaultBinder', () => defaultBinder),
  { ...diskLimitsOf(diskKinds.cinder), byDefault: false },
  { ...withoutArgs('SelectorSpread', selectorSpread), byDefault: false },
];

function diskLimitsOf(kind: (typeof diskKinds)[keyof typeof diskKinds]): PluginKind {
  return {
    name: kind.plugin,
    make: (_args, dialect, { env, gates }) =>
      diskLimits(kind, dialect, maxDisksOf(env, dialect), new CsiMigration(dialect, gates)),
  };
}

/** A plugin without arguments. */
function withoutArgs(name: string, make: (dialect: Dialect) => Plugin): PluginKind {
  return { name, make: (_args, dialect) => make(dialect) };
}

interface StrategyArgs {
  readonly type?: string;
  readonly resources?: readonly ResourceWeight[];
  readonly requestedToCapacityRatio?: { readonly shape: readonly { utilization: number; score: number }[] };
}

const cpuAndMemory = [
  { name: 'cpu', weight: 1 },
  { name: 'memory', weight: 1 },
];
const withWeights = (weights: readonly ResourceWeight[]): ResourceWeight[] =>
  weights.map(({ name, weight }) => ({ name, weight: weight ?? 1 }));

function strategyOf({
  requestedToCapacityRatio,
  resources: given,
  type = 'LeastAllocated',
}: StrategyArgs): ScoringStrategy {
  const resourceWeights = withWeights(given ?? cpuAndMemory);
  switch (type) {
    case 'MostAllocated':
      return { type, resources: resourceWeights };
    case 'RequestedToCapacityRatio':
      return { type, resources: resourceWeights, shape: requestedToCapacityRatio?.shape ?? [] };
    default:
      return { type: 'LeastAllocated', resources: resourceWeights };
  }
}

function fitErrors(args: Plain): string[] {
  const errors: string[] = [];
  const {
    requestedToCapacityRatio,
    resources: given = [],
    type = 'LeastAllocated',
  } = (args['scoringStrategy'] ?? {}) as StrategyArgs;
  const at = 'scoringStrategy';
  const types = ['LeastAllocated', 'MostAllocated', 'RequestedToCapacityRatio'];
  if (!types.includes(type)) {
    const supported = types.map((each) => JSON.stringify(each)).join(', ');
    errors.push(`${at}.type: Unsupported value: ${JSON.stringify(type)}: supported values: ${supported}`);
  }
  errors.push(...weightErrors(`${at}.resources`, given));
  if (type === 'RequestedToCapacityRatio') {
    const path = `${at}.requestedToCapacityRatio.shape`;
    const points = requestedToCapacityRatio?.shape ?? [];
    if (points.length === 0) errors.push(`${path}: Required value: at least one point must be specified`);
    for (const [i, { score, utilization }] of points.entries()) {
      const before = points[i - 1];
      if (utilization < 0 || utilization > 100) {
        errors.push(`${path}[${i}].utilization: Invalid value: ${utilization}: not in valid range [0, 100]`);
      } else if (before !== undefined && before.utilization >= utilization) {
        errors.push(
          `${path}[${i}].utilization: Invalid value: ${utilization}: utilization values must be sorted in increasing order`,
        );
      }
      if (score < 0 || score > 10)
        errors.push(`${path}[${i}].score: Invalid value: ${score}: not in valid range [0, 10]`);
    }
  }
  return errors;
}

function weightErrors(path: string, weights: readonly ResourceWeight[]): string[] {
  return weights.flatMap(({ name, weight = 1 }, i) =>
    weight < 1 || weight > 100
      ? [`${path}[${i}].weight: Invalid value: ${weight}: resource weight of ${name} not in valid range [1-100]`]
      : [],
  );
}

/** `shape` would score by storage capacity, which needs an alpha gate of release 1.24. */
function volumeErrors({ bindTimeoutSeconds = 0, shape: given }: Plain): string[] {
  const why = 'invalid BindTimeoutSeconds, should not be a negative value';
  return [
    ...(Number(bindTimeoutSeconds) < 0 ? [`bindTimeoutSeconds: Invalid value: ${bindTimeoutSeconds}: ${why}`] : []),
    ...(given === undefined ? [] : ['shape: Invalid value: unexpected field `shape`, remove it: it has no effect']),
  ];
}

function preemptionErrors(args: Plain): string[] {
  const { minCandidateNodesAbsolute = 100, minCandidateNodesPercentage = 10 } = args;
  const errors: string[] = [];
  if (Number(minCandidateNodesAbsolute) < 0) {
    errors.push(`minCandidateNodesAbsolute: Invalid value: ${minCandidateNodesAbsolute}: not in valid range [0, inf)`);
  }
  if (Number(minCandidateNodesPercentage) < 0 || Number(minCandidateNodesPercentage) > 100) {
    errors.push(
      `minCandidateNodesPercentage: Invalid value: ${minCandidateNodesPercentage}: not in valid range [0, 100]`,
    );
  }
  if (minCandidateNodesAbsolute === 0 && minCandidateNodesPercentage === 0) {
    const together = 'Invalid value: 0: cannot be zero at the same time as';
    errors.push(`minCandidateNodesPercentage: ${together} minCandidateNodesAbsolute`);
    errors.push(`minCandidateNodesAbsolute: ${together} minCandidateNodesPercentage`);
  }
  return errors;
}

type DefaultConstraint = SpreadArgs['defaultConstraints'][number];

function spreadErrors({ defaultConstraints = [], defaultingType = 'System' }: Plain): string[] {
  const constraints = defaultConstraints as readonly DefaultConstraint[];
  if (defaultingType !== 'System' && defaultingType !== 'List') {
    return [`defaultingType: Unsupported value: ${JSON.stringify(defaultingType)}: supported values: "System", "List"`];
  }
  const errors: string[] = [];
  if (defaultingType === 'System' && constraints.length > 0) {
    errors.push('defaultingType: Invalid value: "System": when .defaultConstraints are not empty');
  }
  for (const [i, { maxSkew, topologyKey, whenUnsatisfiable }] of constraints.entries()) {
    const at = `defaultConstraints[${i}]`;
    if (maxSkew <= 0) errors.push(`${at}.maxSkew: Invalid value: ${maxSkew}: not in valid range (0, inf)`);
    if (topologyKey === '') errors.push(`${at}.topologyKey: Required value: can not be empty`);
    const isSame = (each: DefaultConstraint) =>
      each.topologyKey === topologyKey && each.whenUnsatisfiable === whenUnsatisfiable;
    if (constraints.slice(0, i).some(isSame)) {
      errors.push(`${at}: Duplicate value: ${JSON.stringify(`{${topologyKey}, ${whenUnsatisfiable}}`)}`);
    }
    if (whenUnsatisfiable === '') errors.push(`${at}.whenUnsatisfiable: Required value: can not be empty`);
    else if (!['DoNotSchedule', 'ScheduleAnyway'].includes(whenUnsatisfiable)) {
      const supported = 'supported values: "DoNotSchedule", "ScheduleAnyway"';
      errors.push(`${at}.whenUnsatisfiable: Unsupported value: ${JSON.stringify(whenUnsatisfiable)}: ${supported}`);
    }
  }
  return errors;
}

function spreadArgs({ defaultConstraints, defaultingType }: Plain, dialect: Dialect, gates: FeatureGates): SpreadArgs {
  const minDomains = gates.enabled('MinDomainsInPodTopologySpread');
  if (defaultingType !== 'List') return { ...systemDefaults(dialect), minDomains };
  return {
    defaultConstraints: (defaultConstraints ?? []) as readonly DefaultConstraint[],
    system: false,
    minDomains,
  };
}
