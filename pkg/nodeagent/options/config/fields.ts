/** The fields of a NodeAgentConfiguration, version v1beta1, and their types (specification 3, 2.1 and 2.2). */
import type { FieldTable, FieldType } from '#daemon/options/config-decode.js';

const string = { unsetWhenZero: 'string' } as const;
const duration = { unsetWhenZero: 'duration' } as const;
const int32 = { unsetWhenZero: 'int32' } as const;
const strings = { listOf: 'string' } as const;
const stringMap = { mapOf: 'string' } as const;

const taint: FieldType = {
  fields: { key: 'string', value: 'string', effect: 'string', timeAdded: 'string' },
  required: ['key', 'effect'],
};

const reservedMemory: FieldType = {
  fields: { numaNode: 'int32', limits: { mapOf: 'quantity' } },
  required: ['numaNode', 'limits'],
};

const gracePeriod: FieldType = {
  fields: { priority: 'int32', shutdownGracePeriodSeconds: 'int64' },
  required: ['priority', 'shutdownGracePeriodSeconds'],
};

const authentication: FieldType = {
  fields: {
    x509: { fields: { clientCAFile: 'string' } },
    webhook: { fields: { enabled: 'bool', cacheTTL: duration } },
    anonymous: { fields: { enabled: 'bool' } },
  },
};

const authorization: FieldType = {
  fields: {
    mode: string,
    webhook: { fields: { cacheAuthorizedTTL: duration, cacheUnauthorizedTTL: duration } },
  },
};

const logging: FieldType = {
  fields: {
    format: string,
    flushFrequency: 'nanoseconds',
    verbosity: 'int32',
    vmodule: {
      listOf: { fields: { filePattern: 'string', verbosity: 'int32' }, required: ['filePattern', 'verbosity'] },
    },
    options: { fields: { json: { fields: { splitStream: 'bool', infoBufferSize: 'quantity' } } } },
  },
};

export const configFields: FieldTable = {
  address: string,
  allowedUnsafeSysctls: strings,
  apiVersion: 'string',
  authentication,
  authorization,
  cgroupDriver: string,
  cgroupRoot: 'string',
  cgroupsPerQOS: 'bool',
  clusterDNS: strings,
  clusterDomain: 'string',
  configMapAndSecretChangeDetectionStrategy: string,
  containerLogMaxFiles: 'int32',
  containerLogMaxSize: string,
  contentType: string,
  cpuCFSQuota: 'bool',
  cpuCFSQuotaPeriod: 'duration',
  cpuManagerPolicy: string,
  cpuManagerPolicyOptions: stringMap,
  cpuManagerReconcilePeriod: duration,
  enableContentionProfiling: 'bool',
  enableControllerAttachDetach: 'bool',
  enableDebugFlagsHandler: 'bool',
  enableDebuggingHandlers: 'bool',
  enableProfilingHandler: 'bool',
  enableServer: 'bool',
  enableSystemLogHandler: 'bool',
  enforceNodeAllocatable: strings,
  eventBurst: int32,
  eventRecordQPS: 'int32',
  evictionHard: stringMap,
  evictionMaxPodGracePeriod: 'int32',
  evictionMinimumReclaim: stringMap,
  evictionPressureTransitionPeriod: duration,
  evictionSoft: stringMap,
  evictionSoftGracePeriod: stringMap,
  failSwapOn: 'bool',
  featureGates: { mapOf: 'bool' },
  fileCheckFrequency: duration,
  hairpinMode: string,
  healthzBindAddress: string,
  healthzPort: 'int32',
  httpCheckFrequency: duration,
  imageGCHighThresholdPercent: 'int32',
  imageGCLowThresholdPercent: 'int32',
  imageMinimumGCAge: duration,
  iptablesDropBit: 'int32',
  iptablesMasqueradeBit: 'int32',
  kernelMemcgNotification: 'bool',
  kind: 'string',
  logging,
  makeIPTablesUtilChains: 'bool',
  maxOpenFiles: { unsetWhenZero: 'int64' },
  maxPods: int32,
  memoryManagerPolicy: string,
  memorySwap: { fields: { swapBehavior: 'string' } },
  memoryThrottlingFactor: 'float',
  nodeAgentCgroups: 'string',
  nodeLeaseDurationSeconds: int32,
  nodeStatusMaxImages: 'int32',
  nodeStatusReportFrequency: duration,
  nodeStatusUpdateFrequency: duration,
  oomScoreAdj: 'int32',
  orchAPIBurst: int32,
  orchAPIQPS: 'int32',
  orchReserved: stringMap,
  orchReservedCgroup: 'string',
  podCIDR: 'string',
  podPidsLimit: 'int64',
  podsPerCore: 'int32',
  port: int32,
  protectKernelDefaults: 'bool',
  providerID: 'string',
  qosReserved: stringMap,
  readOnlyPort: 'int32',
  registerNode: 'bool',
  registerWithTaints: { listOf: taint },
  registryBurst: int32,
  registryPullQPS: 'int32',
  reservedMemory: { listOf: reservedMemory },
  reservedSystemCPUs: 'string',
  resolvConf: 'string',
  rotateCertificates: 'bool',
  runOnce: 'bool',
  runtimeRequestTimeout: duration,
  seccompDefault: 'bool',
  serializeImagePulls: 'bool',
  serverTLSBootstrap: 'bool',
  showHiddenMetricsForVersion: 'string',
  shutdownGracePeriod: 'duration',
  shutdownGracePeriodByPodPriority: { listOf: gracePeriod },
  shutdownGracePeriodCriticalPods: 'duration',
  staticPodPath: 'string',
  staticPodURL: 'string',
  staticPodURLHeader: { mapOf: strings },
  streamingConnectionIdleTimeout: duration,
  syncFrequency: duration,
  systemCgroups: 'string',
  systemReserved: stringMap,
  systemReservedCgroup: 'string',
  tlsCertFile: 'string',
  tlsCipherSuites: strings,
  tlsMinVersion: 'string',
  tlsPrivateKeyFile: 'string',
  topologyManagerPolicy: string,
  topologyManagerScope: string,
  volumePluginDir: string,
  volumeStatsAggPeriod: duration,
};
