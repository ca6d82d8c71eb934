/** Renders the recording and alerting rules of a cluster for Prometheus. The JSON files beside this one have their data. */
import { fillNames, type Names, ofCluster } from '#observe/names.js';
import apiserver from './apiserver.json' with { type: 'json' };
import etcd from './etcd.json' with { type: 'json' };
import general from './general.json' with { type: 'json' };
import nodes from './nodes.json' with { type: 'json' };
import recording from './recording.json' with { type: 'json' };
import schedulerControllers from './scheduler-controllers.json' with { type: 'json' };
import services from './services.json' with { type: 'json' };
import workloads from './workloads.json' with { type: 'json' };

export interface AlertGroup {
  readonly name: string;
  readonly title: string;
  readonly alerts: readonly Alert[];
}

export interface Alert {
  readonly name: string;
  readonly comment?: string;
  /** Query for `ofCluster`. */
  readonly expr: string;
  /** Time that the query must hold, in Prometheus's format; absent: none. */
  readonly for?: string;
  /** `critical`: wakes an operator. `warning`: needs work before it becomes critical. `info`: shown on request. */
  readonly severity: 'critical' | 'warning' | 'info';
  /** Labels that distinguish alerts of one name. */
  readonly labels?: Readonly<Record<string, string>>;
  /** One line. May contain Prometheus's `{{ $labels.x }}` and `{{ $value }}`. */
  readonly summary: string;
  readonly description: string;
  /** The same for all alerts of one name. */
  readonly runbook: Runbook;
}

export interface Runbook {
  readonly meaning: string;
  /** Commands, one per line. */
  readonly look: readonly string[];
  readonly act: string;
}

export interface RuleFile {
  readonly groups: readonly RuleGroup[];
}

interface RuleGroup {
  readonly name: string;
  readonly rules: readonly Rule[];
}

interface Rule {
  readonly record?: string;
  readonly alert?: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface RuleOptions {
  /** Value of the label `cluster` of the series. */
  readonly cluster: string;
  /** URL or path of the runbooks, to which `#<name in lower case>` is added. */
  readonly runbooks: string;
}

export function ruleFile(names: Names, options: RuleOptions): RuleFile {
  const { cluster } = options;
  const records = recording.map(({ record, expr }) => ({
    record,
    expr: ofCluster(expr, cluster),
    labels: { cluster },
  }));
  const groups = alertGroups(names).map(({ name, alerts }) => ({
    name,
    rules: alerts.map((alert) => alertingRule(alert, options)),
  }));
  return { groups: [{ name: 'recording', rules: records }, ...groups] };
}

export function alertGroups(names: Names): AlertGroup[] {
  const groups = [general, apiserver, etcd, schedulerControllers, nodes, workloads, services];
  return fillNames(groups as readonly unknown[] as AlertGroup[], names);
}

function alertingRule(alert: Alert, { cluster, runbooks }: RuleOptions): Rule {
  const { name, expr, severity, labels, summary, description } = alert;
  return {
    alert: name,
    expr: ofCluster(expr, cluster),
    ...(alert.for === undefined ? {} : { for: alert.for }),
    labels: { severity, cluster, ...labels },
    annotations: { summary, description, runbook_url: `${runbooks}#${name.toLowerCase()}` },
  };
}
