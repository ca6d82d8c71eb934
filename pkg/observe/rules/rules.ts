/** Recording and alerting rules of one cluster, as Prometheus reads them. Pure. */
import type { Names } from '#observe/names.js';
import { ofCluster } from '#observe/promql.js';
import type { Alert } from '#observe/rules/alert.js';
import { apiServerAlerts } from '#observe/rules/apiserver.js';
import { etcdAlerts } from '#observe/rules/etcd.js';
import { generalAlerts } from '#observe/rules/general.js';
import { loopAlerts } from '#observe/rules/loops.js';
import { nodeAlerts } from '#observe/rules/nodes.js';
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

/** Alerts about names, services and ingresses. */
function serviceAlerts({ prefix, dnsAlert, dialect, agent }: Names): Alert[] {
  const dns = `${dialect.dnsMetricsPrefix}_dns_responses_total`;
  return [
    {
      name: `${dnsAlert}ErrorsHigh`,
      expr: `sum by (instance) (rate(${dns}{rcode="SERVFAIL"}[5m])) / sum by (instance) (rate(${dns}{}[5m])) > 0.03`,
      for: '10m',
      severity: 'warning',
      summary: 'The name server of {{ $labels.instance }} fails.',
      description:
        '{{ $value | humanizePercentage }} of the questions to the name server of {{ $labels.instance }} were answered with SERVFAIL.',
      runbook: {
        meaning:
          'Names outside of the cluster are asked of the machine’s resolvers, which do not answer; or the API server is away.',
        look: ['cat /etc/resolv.conf', `tail -n 50 DATA_DIR/logs/${agent}*.log DATA_DIR/logs/orch.log`],
        act: 'Mend the resolvers of the machine.',
      },
    },
    {
      name: `${prefix}ProxySyncFailing`,
      expr: `sum by (instance) (increase(${dialect.proxyMetricsPrefix}_sync_proxy_rules_nftables_sync_failures_total{}[10m])) > 0`,
      for: '10m',
      severity: 'critical',
      summary: 'Services of {{ $labels.instance }} lead nowhere new.',
      description: 'The proxy of {{ $labels.instance }} could not write its rules into the kernel.',
      runbook: {
        meaning: 'Rules stay as they were: services reach pods that are gone, and new ones are not reached at all.',
        look: ['nft list tables', `tail -n 50 DATA_DIR/logs/${agent}*.log DATA_DIR/logs/orch.log`],
        act: 'The log has what nft said: mostly a kernel without nf_tables, or another program that removes its tables.',
      },
    },
    {
      name: `${prefix}IngressErrors`,
      expr: 'sum by (ingress) (rate(ingress_requests_total{code="5xx"}[5m])) / sum by (ingress) (rate(ingress_requests_total{}[5m])) > 0.05',
      for: '10m',
      severity: 'warning',
      summary: 'The Ingress {{ $labels.ingress }} answers with errors.',
      description:
        '{{ $value | humanizePercentage }} of the requests to the Ingress {{ $labels.ingress }} were answered with 5xx.',
      runbook: {
        meaning: 'The pods behind it answer with errors, or (502, 503, 504) not at all.',
        look: ['orchctl describe ingress NAME -n NAMESPACE', 'orchctl get endpoints -n NAMESPACE'],
        act: 'Without endpoints: the selector of the Service, or the readiness of its pods. Else look at the log of the pods.',
      },
    },
    {
      name: `${prefix}IngressProblems`,
      expr: 'max by (job, instance) (ingress_problems{}) > 0',
      for: '15m',
      severity: 'warning',
      summary: '{{ $value }} rules of Ingresses cannot be carried out.',
      description: '{{ $value }} rules or certificates of Ingresses have not been usable for 15 minutes.',
      runbook: {
        meaning: 'An Ingress names a Service, a port or a Secret that is not there, or a certificate that is none.',
        look: ['orchctl get events -A --field-selector involvedObject.kind=Ingress'],
        act: 'Its events say which and why.',
      },
    },
  ];
}
