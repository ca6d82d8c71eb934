/** Field types of the scheduler's configuration file, versions v1beta2 and v1beta3 of release 1.24. */
import { type Dialect, orchDialect } from '#apimachinery/dialect.js';
import type { FieldTable, FieldType, Plain } from '#daemon/options/config-decode.js';

const pluginSet: FieldType = {
  fields: {
    enabled: { listOf: { fields: { name: 'string', weight: 'int32' }, required: ['name'] } },
    disabled: { listOf: { fields: { name: 'string', weight: 'int32' }, required: ['name'] } },
  },
};

const old = '/v1beta2';

/** Accepted API versions, newest first. */
export const configVersions = ({ schedulerConfig: { apiVersion } }: Dialect): string[] => [
  apiVersion,
  apiVersion.replace(/\/v1beta3$/, old),
];

/** Whether the file is v1beta2, which lacks `multiPoint` and has other default weights. */
export const isOldConfig = (file: Plain): boolean => String(file['apiVersion']).endsWith(old);

const extensionPoints = [
  'queueSort',
  'preFilter',
  'filter',
  'postFilter',
  'preScore',
  'score',
  'reserve',
  'permit',
  'preBind',
  'bind',
  'postBind',
  'multiPoint',
] as const;

const tlsConfig: FieldType = {
  fields: {
    insecure: 'bool',
    serverName: 'string',
    certFile: 'string',
    keyFile: 'string',
    caFile: 'string',
    certData: 'string',
    keyData: 'string',
    caData: 'string',
  },
};

const extender: FieldType = {
  fields: {
    urlPrefix: 'string',
    filterVerb: 'string',
    preemptVerb: 'string',
    prioritizeVerb: 'string',
    weight: 'int64',
    bindVerb: 'string',
    enableHTTPS: 'bool',
    tlsConfig,
    httpTimeout: 'duration',
    nodeCacheCapable: 'bool',
    managedResources: { listOf: { fields: { name: 'string', ignoredByScheduler: 'bool' }, required: ['name'] } },
    ignorable: 'bool',
  },
  required: ['urlPrefix'],
};

const profile = (points: readonly string[]): FieldType => ({
  fields: {
    schedulerName: 'string',
    plugins: { fields: Object.fromEntries(points.map((point) => [point, pluginSet])) },
    pluginConfig: { listOf: { fields: { name: 'string', args: 'any' }, required: ['name'] } },
  },
});

const pluginModule: FieldType = { fields: { path: 'string' }, required: ['path'] };

/** The name of the client configuration field in files of the dialect. */
export const clientConfigField = (dialect: Dialect): string => `${dialect.shortName}config`;

/** `isOld`: v1beta2. */
export function schedulerConfigFields(dialect: Dialect, isOld: boolean): FieldTable {
  const points = isOld ? extensionPoints.filter((point) => point !== 'multiPoint') : extensionPoints;
  return {
    apiVersion: 'string',
    kind: 'string',
    parallelism: 'int32',
    leaderElection: {
      fields: {
        leaderElect: 'bool',
        leaseDuration: 'duration',
        renewDeadline: 'duration',
        retryPeriod: 'duration',
        resourceLock: 'string',
        resourceName: 'string',
        resourceNamespace: 'string',
      },
    },
    clientConnection: {
      fields: {
        [clientConfigField(dialect)]: 'string',
        acceptContentTypes: 'string',
        contentType: 'string',
        qps: 'float',
        burst: 'int32',
      },
    },
    enableProfiling: 'bool',
    enableContentionProfiling: 'bool',
    percentageOfNodesToScore: 'int32',
    podInitialBackoffSeconds: 'int64',
    podMaxBackoffSeconds: 'int64',
    profiles: { listOf: profile(points) },
    extenders: { listOf: extender },
    // Only files of our own dialect may name plugin modules.
    ...(dialect === orchDialect ? { pluginModules: { listOf: pluginModule } } : {}),
  };
}
