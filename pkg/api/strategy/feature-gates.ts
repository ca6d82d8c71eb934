/** Feature gates that rules of kinds use. Rules may use no others; `feature-gates.test.ts` has the effects of each. */
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

/** True if the feature gate is on; the same function always gives the same answers. */
export type RuleGate = (name: (typeof ruleGates)[number]) => boolean;
