/** Options of `orch test`. */
import type { DialectName } from '#apimachinery/dialect.js';
import type { OptionTable, OptionValues } from '#daemon/options/option.js';
import type { TestClusterOptions } from '#testcluster/start-test-cluster.js';

const section = 'Cluster';

export const clusterOptions = {
  dialect: {
    type: 'string',
    default: 'kubernetes',
    oneOf: ['orch', 'kubernetes'],
    section,
    meaning: "Names in the cluster's API.",
  },
  controllers: {
    type: 'string',
    default: 'all',
    section,
    meaning:
      'Controllers to run: all, none, or a list such as garbagecollector,namespace; scheduler is one of them, and -NAME leaves one out. Nodes bring those that they need.',
  },
  nodes: { type: 'int', default: 0, min: 0, section, meaning: 'Number of simulated nodes.' },
  'secure-port': {
    type: 'int',
    default: 0,
    min: 0,
    section,
    meaning: 'Port of the API server on loopback; 0: any free one.',
  },
  'etcd-servers': {
    type: 'strings',
    section,
    meaning: 'Addresses of an etcd for this cluster only. Default: objects are in memory.',
  },
  'feature-gates': { type: 'boolMap', section, meaning: 'Feature gates of all daemons, NAME=true|false.' },
  'apiserver-arg': { type: 'stringArray', section, meaning: 'Option of the API server, NAME=VALUE; repeatable.' },
} as const satisfies OptionTable;

export const startOptions = {
  ...clusterOptions,
  json: {
    type: 'bool',
    default: false,
    section: 'Output',
    meaning: 'Print what programs need to know, as one line of JSON.',
  },
  owner: {
    type: 'int',
    default: 0,
    min: 0,
    section: 'Lifetime',
    meaning: 'Process whose end ends the cluster. Default: the one that ran this command.',
  },
} as const satisfies OptionTable;

export type ClusterValues = OptionValues<typeof clusterOptions>;

export function testClusterOptions(values: ClusterValues): TestClusterOptions {
  const port = values['secure-port'];
  const etcd = values['etcd-servers'];
  return {
    dialect: values.dialect as DialectName,
    controllers: values.controllers,
    nodes: values.nodes,
    featureGates: values['feature-gates'],
    apiServerOptions: values['apiserver-arg'],
    ...(port === 0 ? {} : { port }),
    ...(etcd.length === 0 ? {} : { etcd }),
  };
}
