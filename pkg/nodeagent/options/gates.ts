/** The feature gates that rules of the node agent's options ask for. */
import type { FeatureGateName } from '#daemon/options/groups/feature-gate-table.js';

/** Rules may ask for no others. */
export const nodeAgentGates = [
  'CPUManager',
  'CPUManagerPolicyOptions',
  'CustomCPUCFSQuotaPeriod',
  'ExpandedDNSConfig',
  'GracefulNodeShutdown',
  'GracefulNodeShutdownBasedOnPodPriority',
  'LocalStorageCapacityIsolation',
  'MemoryManager',
  'MemoryQoS',
  'NodeAgentCredentialProviders',
  'NodeSwap',
  'QOSReserved',
  'RotateNodeAgentServerCertificate',
  'SeccompDefault',
  'SizeMemoryBackedVolumes',
  'TopologyManager',
] as const satisfies readonly FeatureGateName[];

export type NodeAgentGate = (typeof nodeAgentGates)[number];

/** Which of them are on. */
export interface NodeAgentGates {
  enabled(name: NodeAgentGate): boolean;
}
