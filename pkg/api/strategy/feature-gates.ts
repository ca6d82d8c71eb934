/** Feature gates that act on the API: those that declarations name, and those that rules of kinds ask for. */
import { groupVersions } from '#api/scheme.gen.js';

/** Rules may ask for these only; what each changes is in `feature-gates.test.ts`. */
export const ruleGates = [
  'AnyVolumeDataSource',
  'AppArmor',
  'CSIMigration',
  'CustomResourceValidationExpressions',
  'DownwardAPIHugePages',
  'ExpandedDNSConfig',
  'HPAContainerMetrics',
  'HPAScaleToZero',
  'JobMutableNodeSchedulingDirectives',
  'JobTrackingWithFinalizers',
  'MaxUnavailableStatefulSet',
  'MixedProtocolLBService',
  'PodDeletionCost',
  'ReadWriteOncePod',
  'RecoverVolumeExpansionFailure',
  'ServiceInternalTrafficPolicy',
  'StatefulSetAutoDeletePVC',
] as const;

/** True when the feature gate is on; one function always gives the same answers. */
export type RuleGate = (name: (typeof ruleGates)[number]) => boolean;

/** Names of all gates that change anything about the API. */
export function apiGates(): string[] {
  const declared = groupVersions.flatMap(({ kinds }) =>
    kinds.flatMap(({ types, resources = [] }) => [
      ...resources,
      ...Object.values(types).flatMap(({ fields }) => Object.values(fields)),
    ]),
  );
  const named = declared.flatMap(({ featureGate }) => featureGate ?? []);
  return [...new Set([...named, ...ruleGates])].sort();
}
