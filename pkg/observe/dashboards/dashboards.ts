/** The dashboards. The JSON files beside this one have their data, and `grafana.ts` renders them. */
import { fillNames, type Names } from '#observe/names.js';
import apiserver from './apiserver.json' with { type: 'json' };
import cluster from './cluster.json' with { type: 'json' };
import controllers from './controllers.json' with { type: 'json' };
import etcd from './etcd.json' with { type: 'json' };
import nodes from './nodes.json' with { type: 'json' };
import scheduler from './scheduler.json' with { type: 'json' };
import workloads from './workloads.json' with { type: 'json' };

export interface Dashboard {
  /** Also the name of its file. */
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  readonly variables?: readonly Variable[];
  readonly rows: readonly Row[];
}

/** A selection at the top, of any number of values: `instance=~"$instance"` in queries. */
export interface Variable {
  readonly name: string;
  /** The series whose labels are the values: a query for `ofCluster`. */
  readonly of: string;
}

export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

export interface Panel {
  /** `graph`: lines over time. `number`: the newest value, large. `table`: the newest value of each series, one per line. */
  readonly type: 'graph' | 'number' | 'table';
  readonly title: string;
  readonly comment?: string;
  readonly unit: Unit;
  readonly queries: readonly Query[];
}

export interface Query {
  /** Query for `ofCluster`; `$__rate_interval` is the range of rates. */
  readonly expr: string;
  /** Name of the line: `{{label}}`. */
  readonly legend: string;
}

/** Names of Grafana's units. */
export type Unit = 'short' | 'reqps' | 'ops' | 's' | 'bytes' | 'Bps' | 'percentunit' | 'cores' | 'dateTimeFromNow';

export function dashboards(names: Names): Dashboard[] {
  const all = [cluster, apiserver, etcd, scheduler, controllers, nodes, workloads];
  return fillNames(all as readonly unknown[] as Dashboard[], names);
}
