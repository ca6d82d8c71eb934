/** Feature gates that rules of kinds ask for. Rules may ask for these only; what each changes is in `feature-gates.test.ts`. */
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
