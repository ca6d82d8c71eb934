/** Recording and alerting rules of one cluster, as Prometheus reads them. Pure. */

import type { Names } from '#observe/names.js';
import { ofCluster } from '#observe/promql.js';
import type { Alert } from '#observe/rules/alert.js';
import { apiServerAlerts } from '#observe/rules/apiserver.js';
import { etcdAlerts } from '#observe/rules/etcd.js';
import { generalAlerts } from '#observe/rules/general.js';
import { loopAlerts } from '#observe/rules/loops.js';
import { nodeAlerts } from '#observe/rules/nodes.js';
import { serviceAlerts } from '#observe/rules/services.js';
import { workloadAlerts } from '#observe/rules/workloads.js';

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
  const recording = recordingRules.map(({ record, expr }) => ({
    record,
    expr: ofCluster(expr, options.cluster),
    labels: { cluster: options.cluster },
  }));
  return {
    groups: [
      { name: 'recording', rules: recording },
      ...alertGroups(names).map(({ name, alerts }) => ({
        name,
        rules: alerts.map((alert) => alertingRule(alert, options)),
      })),
    ],
  };
}

export interface AlertGroup {
  readonly name: string;
  readonly title: string;
  readonly alerts: readonly Alert[];
}

export function alertGroups(names: Names): AlertGroup[] {
  return [
    { name: 'general', title: 'All daemons', alerts: generalAlerts(names) },
    { name: 'apiserver', title: 'API servers', alerts: apiServerAlerts(names) },
    { name: 'etcd', title: 'etcd', alerts: etcdAlerts(names) },
    { name: 'scheduler-controllers', title: 'Scheduler and controllers', alerts: loopAlerts(names) },
    { name: 'nodes', title: 'Nodes', alerts: nodeAlerts(names) },
    { name: 'workloads', title: 'Workloads', alerts: workloadAlerts(names) },
    { name: 'services', title: 'Names, services and ingresses', alerts: serviceAlerts(names) },
  ];
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

/** Reads and writes of single objects: those of which a second is too long. */
const single = 'subresource!~"exec|attach|portforward|proxy|log", verb=~"GET|POST|PUT|PATCH|DELETE|APPLY"';

/** The share of requests that failed, or took longer than a second. */
function burnRate(window: string): string {
  const slow = `sum(rate(apiserver_request_duration_seconds_count{${single}}[${window}])) - sum(rate(apiserver_request_duration_seconds_bucket{${single}, le="1"}[${window}]))`;
  const failed = `(sum(rate(apiserver_request_total{code=~"5.."}[${window}])) or vector(0))`;
  return `(${slow} + ${failed}) / sum(rate(apiserver_request_total{}[${window}]))`;
}

const recordingRules: readonly { readonly record: string; readonly expr: string }[] = [
  ...['5m', '30m', '1h', '6h'].map((window) => ({
    record: `apiserver_request:burnrate${window}`,
    expr: burnRate(window),
  })),
  {
    record: 'code_verb:apiserver_request_total:rate5m',
    expr: 'sum by (code, verb) (rate(apiserver_request_total{}[5m]))',
  },
  {
    record: 'cluster_quantile:apiserver_request_duration_seconds:histogram_quantile99',
    expr: `histogram_quantile(0.99, sum by (verb, le) (rate(apiserver_request_duration_seconds_bucket{${single}}[5m])))`,
  },
  {
    record: 'namespace:pod_cpu_usage_seconds_total:sum_rate5m',
    expr: 'sum by (namespace) (rate(pod_cpu_usage_seconds_total{}[5m]))',
  },
  {
    record: 'namespace:pod_memory_working_set_bytes:sum',
    expr: 'sum by (namespace) (pod_memory_working_set_bytes{})',
  },
  { record: 'instance:node_cpu:rate5m', expr: 'sum by (instance) (rate(node_cpu_usage_seconds_total{}[5m]))' },
];
