/** The feature gates that the node agent uses. */
import type { FeatureGateName } from '#daemon/options/groups/feature-gate-table.js';

/** The complete list; using another gate is a type error. */
export const nodeAgentGates = [
  'CPUManager',
  'CPUManagerPolicyAlphaOptions',
  'CPUManagerPolicyBetaOptions',
  'CPUManagerPolicyOptions',
  'CSIInlineVolume',
  'CSIVolumeHealth',
  'CustomCPUCFSQuotaPeriod',
  'DelegateFSGroupToCSIDriver',
  'DevicePlugins',
  'ExecProbeTimeout',
  'ExpandedDNSConfig',
  'GracefulNodeShutdown',
  'GracefulNodeShutdownBasedOnPodPriority',
  'LocalStorageCapacityIsolation',
  'MemoryManager',
  'MemoryQoS',
  'NodeAgentCredentialProviders',
  'NodeAgentPodResources',
  'NodeAgentPodResourcesGetAllocatable',
  'NodeSwap',
  'QOSReserved',
  'RecoverVolumeExpansionFailure',
  'RotateNodeAgentServerCertificate',
  'SeccompDefault',
  'SizeMemoryBackedVolumes',
  'TopologyManager',
] as const satisfies readonly FeatureGateName[];

export type NodeAgentGate = (typeof nodeAgentGates)[number];

/** Tells which gates are enabled. */
export interface NodeAgentGates {
  enabled(name: NodeAgentGate): boolean;
}
