/** The feature gates against the specification. */
import t from 'tap';
import { apiGates } from '#api/api-gates.js';
import { type FeatureGate, featureGateTable } from '#daemon/options/groups/feature-gate-table.js';
import { FeatureGates, featureGateRules, idleGateFindings } from '#daemon/options/groups/feature-gates.js';
import { nodeAgentGates } from '#nodeagent/options/gates.js';

const idleGateWarnings = (values: Readonly<Record<string, boolean>>, acting: readonly string[]): readonly string[] =>
  idleGateFindings(values, acting).warnings;

const table: Readonly<Record<string, FeatureGate>> = featureGateTable;

/** Gate, maturity, default: specification 2, 9. */
const specified = `
APIListChunking beta true
APIPriorityAndFairness beta true
APIResponseCompression beta true
APIServerIdentity alpha false
APIServerTracing alpha false
AnyVolumeDataSource beta true
AppArmor beta true
CPUManager beta true
CPUManagerPolicyAlphaOptions alpha false
CPUManagerPolicyBetaOptions beta true
CPUManagerPolicyOptions beta true
CSIInlineVolume beta true
CSIMigration beta true
CSIMigrationCloudA beta true
CSIMigrationCloudBFile beta true
CSIMigrationCloudC beta true
CSIMigrationStorageA alpha false
CSIMigrationRBD alpha false
CSIMigrationCloudD beta false
CSIVolumeHealth alpha false
ContextualLogging alpha false
CronJobTimeZone alpha false
CustomCPUCFSQuotaPeriod alpha false
CustomResourceValidationExpressions alpha false
DaemonSetUpdateSurge beta true
DelegateFSGroupToCSIDriver beta true
DevicePlugins beta true
DisableAcceleratorUsageMetrics beta true
DisableCloudProviders alpha false
DisableNodeAgentCloudCredentialProviders alpha false
DownwardAPIHugePages beta true
EndpointSliceTerminatingCondition beta true
EphemeralContainers beta true
ExpandedDNSConfig alpha false
ExperimentalHostUserNamespaceDefaulting beta false
GRPCContainerProbe beta true
GracefulNodeShutdown beta true
GracefulNodeShutdownBasedOnPodPriority beta true
HPAContainerMetrics alpha false
HPAScaleToZero alpha false
HonorPVReclaimPolicy alpha false
IdentifyPodOS beta true
InTreePluginCloudAUnregister alpha false
InTreePluginCloudBDiskUnregister alpha false
InTreePluginCloudBFileUnregister alpha false
InTreePluginCloudCUnregister alpha false
InTreePluginCloudEUnregister alpha false
InTreePluginStorageAUnregister alpha false
InTreePluginRBDUnregister alpha false
InTreePluginCloudDUnregister alpha false
JobMutableNodeSchedulingDirectives beta true
JobReadyPods beta true
JobTrackingWithFinalizers beta false
NodeAgentCredentialProviders beta true
NodeAgentInUserNamespace alpha false
NodeAgentPodResources beta true
NodeAgentPodResourcesGetAllocatable beta true
LegacyServiceAccountTokenNoAutoGeneration beta true
LocalStorageCapacityIsolation beta true
LocalStorageCapacityIsolationFSQuotaMonitoring alpha false
LogarithmicScaleDown beta true
MaxUnavailableStatefulSet alpha false
MemoryManager beta true
MemoryQoS alpha false
MinDomainsInPodTopologySpread alpha false
MixedProtocolLBService beta true
NetworkPolicyEndPort beta true
NetworkPolicyStatus alpha false
NodeOutOfServiceVolumeDetach alpha false
NodeSwap alpha false
OpenAPIEnums beta true
OpenAPIV3 beta true
PodAndContainerStatsFromCRI alpha false
PodDeletionCost beta true
PodSecurity beta true
ProbeTerminationGracePeriod beta false
ProcMountType alpha false
ProxyTerminatingEndpoints alpha false
QOSReserved alpha false
ReadWriteOncePod alpha false
RecoverVolumeExpansionFailure alpha false
RemainingItemCount beta true
RotateNodeAgentServerCertificate beta true
SeccompDefault alpha false
ServerSideFieldValidation alpha false
ServiceIPStaticSubrange alpha false
ServiceInternalTrafficPolicy beta true
SizeMemoryBackedVolumes beta true
StatefulSetAutoDeletePVC alpha false
StatefulSetMinReadySeconds beta true
StorageVersionAPI alpha false
StorageVersionHash beta true
TopologyAwareHints beta true
TopologyManager beta true
VolumeCapacityPriority alpha false
AltOSDSR alpha false
AltOSOverlay beta true
AltOSHostProcessContainers beta true
`;

t.test('every gate has its maturity and default', async (t) => {
  const seen = new Set<string>();
  for (const line of specified.trim().split('\n')) {
    const [name = '', stage, byDefault] = line.split(' ');
    seen.add(name);
    t.match(table[name], { stage, default: byDefault === 'true' }, name);
  }
  const more = Object.entries(table).filter(([name]) => !seen.has(name));
  t.same(
    more.filter(([, { stage }]) => stage === 'alpha' || stage === 'beta').map(([name]) => name),
    [],
    'others are those that will go',
  );
});

/** By their names in release 1.24, which also go on the command line; a star: locked to its default. */
const released = `
AdvancedAuditing CSIMigrationAzureDisk CSIMigrationOpenStack* CSIServiceAccountToken* CSIStorageCapacity*
CSIVolumeFSGroupPolicy* CSRDuration* ConfigurableFSGroupPolicy* ControllerManagerLeaderMigration*
DefaultPodTopologySpread* DryRun EfficientWatchResumption* EndpointSlice* EndpointSliceNodeName*
EndpointSliceProxying* ExecProbeTimeout ExpandCSIVolumes ExpandInUsePersistentVolumes ExpandPersistentVolumes
GenericEphemeralVolume* IPv6DualStack* IndexedJob* IngressClassNamespacedParams* NonPreemptingPriority*
PodAffinityNamespaceSelector* PodDisruptionBudget* PodOverhead* PreferNominatedNode* RemoveSelfLink* SelectorIndex*
ServerSideApply ServiceLBNodePortControl* ServiceLoadBalancerClass* StorageObjectInUseProtection* SuspendJob*
TTLAfterFinished* VolumeSubpath* WatchBookmark* WindowsEndpointSliceProxying*
`;

t.test('gates of what is generally available are accepted, and locked ones keep their default', async (t) => {
  const rule = (gates: Record<string, boolean>) => featureGateRules({ 'feature-gates': gates }, new Set());
  for (const entry of released.trim().split(/\s+/)) {
    const name = entry.replace('*', '');
    const isLocked = entry.endsWith('*');
    t.same(rule({ [name]: true }), [], name);
    t.same(idleGateWarnings({ [name]: true }, []), [
      `Setting GA feature gate ${name}=true. It will be removed in a future release.`,
    ]);
    const refused = `--feature-gates: cannot set feature gate ${name} to false, feature is locked to true`;
    t.same(rule({ [name]: false }), isLocked ? [refused] : [], name);
    if (!isLocked)
      t.match(idleGateWarnings({ [name]: false }, [])[1], /^Feature gate \w+ has no effect/, 'what is done without');
  }
  t.same(rule({ DynamicKubeletConfig: true }), []);
  t.match(idleGateWarnings({ DynamicKubeletConfig: true }, []), [/^Setting deprecated feature gate/, /no effect/]);
  const names = `CSIMigrationAWS CSIMigrationAzureFile CSIMigrationGCE CSIMigrationPortworx CSIMigrationvSphere
    DisableKubeletCloudCredentialProviders InTreePluginAWSUnregister InTreePluginAzureDiskUnregister
    InTreePluginAzureFileUnregister InTreePluginGCEUnregister InTreePluginOpenStackUnregister
    InTreePluginPortworxUnregister InTreePluginvSphereUnregister KubeletCredentialProviders KubeletInUserNamespace
    KubeletPodResources KubeletPodResourcesGetAllocatable RotateKubeletServerCertificate WinDSR WinOverlay
    WindowsHostProcessContainers`;
  for (const name of names.split(/\s+/)) t.same(rule({ [name]: true }), [], name);
  t.equal(
    new FeatureGates({ RotateKubeletServerCertificate: false }).enabled('RotateNodeAgentServerCertificate'),
    false,
  );
});

t.test('gates of a stage are switched together, a gate of its own wins, unknown ones are errors', async (t) => {
  for (const [all, stage] of [
    ['AllAlpha', 'alpha'],
    ['AllBeta', 'beta'],
  ] as const) {
    for (const on of [true, false]) {
      const gates = new FeatureGates({ [all]: on });
      for (const [name, gate] of Object.entries(table)) {
        const own = name as keyof typeof featureGateTable;
        t.equal(gates.enabled(own), gate.stage === stage ? on : gate.default, `${name} with ${all}=${on}`);
        t.equal(new FeatureGates({ [all]: on, [name]: !on }).enabled(own), !on);
      }
    }
  }
  const values = { 'feature-gates': { AllAlpha: true, Nope: true, CPUManager: false } };
  t.same(featureGateRules(values, new Set()), ['--feature-gates: unrecognized feature gate: Nope']);
});

t.test('a gate that nothing depends on is warned about', async (t) => {
  const values = {
    AppArmor: false,
    NodeSwap: true,
    QOSReserved: true,
    VolumeCapacityPriority: true,
    ContextualLogging: false,
  };
  t.same(
    idleGateWarnings(values, []).map((line) => line.split(' ')[2]),
    ['AppArmor', 'NodeSwap', 'QOSReserved', 'VolumeCapacityPriority', 'ContextualLogging'],
  );
  t.same(idleGateWarnings(values, nodeAgentGates), [
    'Feature gate AppArmor has no effect: nothing in this daemon depends on it',
    'Feature gate VolumeCapacityPriority has no effect: nodes are not scored by the capacity of their volumes',
    'Feature gate ContextualLogging has no effect: lines of the log always carry the values of their context',
  ]);
  t.same(idleGateWarnings({ EphemeralContainers: false, IdentifyPodOS: false }, apiGates()), []);
  t.same(
    idleGateWarnings({ VolumeCapacityPriority: false, ContextualLogging: true, AppArmor: true }, []),
    [],
    'what happens anyway',
  );
});

t.test('gates of a stage name what they set in vain', async (t) => {
  const [alpha = ''] = idleGateWarnings({ AllAlpha: true, PodAndContainerStatsFromCRI: false }, []);
  t.match(alpha, /^Feature gate AllAlpha=true has no effect on InTreePluginCloudAUnregister, /);
  t.notMatch(alpha, /PodAndContainerStatsFromCRI|ContextualLogging/, 'set by its own, or on anyway');
  t.match(idleGateWarnings({ AllBeta: true }, []), [/^Feature gate AllBeta=true has no effect on CSIMigrationCloudD/]);
  const [beta = ''] = idleGateWarnings({ AllBeta: false }, []);
  t.match(beta, /^Feature gate AllBeta=false has no effect on /);
  t.notMatch(beta, /CSIMigrationCloudD/, 'off anyway');
  t.same(idleGateWarnings({ AllAlpha: false }, []), []);
});

t.test('every gate that acts is a known one', async (t) => {
  t.same(
    [...apiGates(), ...nodeAgentGates].filter((name) => table[name] === undefined),
    [],
  );
});
