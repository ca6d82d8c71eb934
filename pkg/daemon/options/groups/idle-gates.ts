/**
 * Why no daemon depends on a gate: one sentence each, which warnings and the reference of each daemon show. A gate that some daemon
 * acts on has no entry.
 */
import { type FeatureGate, type FeatureGateName, featureGateTable } from '#daemon/options/groups/feature-gate-table.js';

export interface IdleGate {
  readonly why: string;
  /** What happens whatever the gate says; setting the gate to it is fine. */
  readonly isOn: boolean;
  /** The feature protects the cluster: turning it on ends the start, because it would not. */
  readonly protects?: true;
}

const always = (why: string): IdleGate => ({ why, isOn: true });
const never = (why: string): IdleGate => ({ why, isOn: false });

const noCloudPlugins = never('no vendor’s volume plugin is built in, so there is none to take out');
const noMigration = always('no vendor’s volume plugin is built in, so only a CSI driver can serve these volumes');
const otherSystem = never('nodes run Linux only');
const unread = always('release 1.24 does not read the gate, either: the feature stays on');

const idle: Readonly<Partial<Record<FeatureGateName, IdleGate>>> = {
  ServiceIPStaticSubrange: always(
    'the lower part of the range is always allocated last, for addresses that Services choose',
  ),
  VolumeCapacityPriority: never('nodes are not scored by the capacity of their volumes'),
  AdvancedAuditing: unread,
  AltOSDSR: otherSystem,
  AltOSOverlay: otherSystem,
  CSIMigrationCloudBDisk: noMigration,
  CSIMigrationCloudBFile: noMigration,
  CSIMigrationCloudD: never(
    'release 1.24 migrates these volumes on request only, and no plugin of that vendor is built in',
  ),
  ContextualLogging: always('lines of the log always carry the values of their context'),
  DisableAcceleratorUsageMetrics: always('the node agent has no metrics of accelerators'),
  DisableNodeAgentCloudCredentialProviders: always('no vendor’s credential provider is built in'),
  DynamicNodeAgentConfig: never('node agents read their configuration from a file only'),
  ExpandCSIVolumes: unread,
  ExpandInUsePersistentVolumes: unread,
  ExpandPersistentVolumes: unread,
  ExperimentalHostUserNamespaceDefaulting: never('pods run in the user namespace of their node'),
  InTreePluginCloudAUnregister: noCloudPlugins,
  InTreePluginCloudBDiskUnregister: noCloudPlugins,
  InTreePluginCloudBFileUnregister: noCloudPlugins,
  InTreePluginCloudCUnregister: noCloudPlugins,
  InTreePluginCloudDUnregister: noCloudPlugins,
  InTreePluginCloudEUnregister: noCloudPlugins,
  InTreePluginRBDUnregister: noCloudPlugins,
  InTreePluginStorageAUnregister: noCloudPlugins,
  LocalStorageCapacityIsolationFSQuotaMonitoring: never('the node agent measures volumes by walking through them'),
  NodeAgentInUserNamespace: never('the node agent runs in the user namespace of its machine'),
  PodAndContainerStatsFromCRI: never('the node agent measures containers itself'),
};

const locked = always('the gate is locked: the feature stays on');

/** Undefined for a gate on which a daemon acts. */
export function idleGate(name: FeatureGateName): IdleGate | undefined {
  const gate: FeatureGate = featureGateTable[name];
  return idle[name] ?? (gate.locked === true && gate.default ? locked : undefined);
}
