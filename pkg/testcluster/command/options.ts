/** Options of `orch test`. */
import { readFile } from 'node:fs/promises';
import { type Clock, parseTime, realClock } from '#apimachinery/clock.js';
import type { DialectName } from '#apimachinery/dialect.js';
import { ManualClock } from '#apimachinery/time/manual-clock.js';
import { OptionsError, type OptionTable, type OptionValues } from '#daemon/options/option.js';
import { faultOptions, faultsOf } from '#testcluster/command/fault-options.js';
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
  clock: {
    type: 'string',
    default: 'real',
    oneOf: ['real', 'manual'],
    section: 'Time',
    meaning: "The cluster's clock: the machine's, or one that stands still until orchctl clock moves it.",
  },
  time: {
    type: 'string',
    section: 'Time',
    meaning: 'Time at which a manual clock starts, as 2030-01-01T00:00:00Z. Default: now.',
  },
  'pod-rules': {
    type: 'string',
    section: 'Pods',
    meaning: 'File of rules, YAML or JSON, by which simulated pods behave.',
  },
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
  ...faultOptions,
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

/** Reads the file of rules. Throws OptionsError. */
export async function testClusterOptions(values: ClusterValues): Promise<TestClusterOptions> {
  const port = values['secure-port'];
  const etcd = values['etcd-servers'];
  const rules = values['pod-rules'] ?? '';
  const clock = clockOf(values.clock, values.time);
  return {
    dialect: values.dialect as DialectName,
    controllers: values.controllers,
    nodes: values.nodes,
    featureGates: values['feature-gates'],
    apiServerOptions: values['apiserver-arg'],
    ...(clock === undefined ? {} : { clock }),
    ...(rules === '' ? {} : { podRules: await readFile(rules, 'utf8') }),
    ...(port === 0 ? {} : { port }),
    ...(etcd.length === 0 ? {} : { etcd }),
    ...faultsOf(values),
  };
}

/**
 * A manual clock runs until the cluster has started. Undefined: the machine's. Throws OptionsError.
 * @param time RFC 3339; now when absent.
 */
export function clockOf(kind: string, time = ''): Clock | undefined {
  if (kind !== 'manual') {
    if (time !== '') throw new OptionsError(['--time needs --clock=manual']);
    return undefined;
  }
  const startMs = time === '' ? realClock.now() : parseTime(time);
  if (Number.isNaN(startMs))
    throw new OptionsError([`--time: ${JSON.stringify(time)} is no time such as 2030-01-01T00:00:00Z`]);
  return new ManualClock({ startMs, process: realClock });
}
