import { type Dashboard, graph, number, quantile, rate, table } from '#observe/dashboards/dashboard.js';
import type { Names } from '#observe/names.js';

export function clusterDashboard({ agent, jobs, state }: Names): Dashboard {
  return {
    uid: 'cluster',
    title: 'Cluster',
    description: 'Whether all of it is well, and who uses how much of it.',
    rows: [
      {
        title: 'Health',
        panels: [
          number('API servers', 'short', `sum(up{job="${jobs.apiServer}"})`),
          number('Members of etcd', 'short', `sum(up{job="${jobs.etcd}"})`),
          number('Nodes', 'short', 'sum(node_collector_zone_size{})'),
          number('Nodes not Ready', 'short', 'sum(node_collector_unhealthy_nodes_in_zone{}) or vector(0)'),
          number('Pods that fit nowhere', 'short', 'sum(scheduler_pending_pods{queue="unschedulable"})'),
          number('Firing alerts', 'short', 'count(ALERTS{alertstate="firing"}) or vector(0)'),
        ],
      },
      {
        title: 'Control plane',
        panels: [
          graph('Requests', 'reqps', { '{{verb}}': 'sum by (verb) (code_verb:apiserver_request_total:rate5m{})' }),
          graph('Requests that failed or were slow', 'percentunit', { 'last hour': 'apiserver_request:burnrate1h{}' }),
          graph('Duration of writes and reads of single objects (99%)', 's', {
            '{{verb}}': 'cluster_quantile:apiserver_request_duration_seconds:histogram_quantile99{}',
          }),
          graph('Time until a pod has a node', 's', {
            'half of them': quantile(0.5, 'scheduler_pod_scheduling_duration_seconds'),
            '99%': quantile(0.99, 'scheduler_pod_scheduling_duration_seconds'),
          }),
          table('Daemons', 'short', 'sum by (job, instance) (up{})'),
          graph('Daemons: CPU', 'cores', {
            '{{job}} {{instance}}': rate('process_cpu_seconds_total', { by: ['job', 'instance'] }),
          }),
          graph('Daemons: memory', 'bytes', {
            '{{job}} {{instance}}': 'sum by (job, instance) (process_resident_memory_bytes{})',
          }),
          graph('Daemons: event loops (99%)', 's', {
            '{{job}} {{instance}}': 'max by (job, instance) (nodejs_eventloop_lag_p99_seconds{})',
          }),
        ],
      },
      {
        title: 'Use',
        panels: [
          graph('CPU by namespace', 'cores', { '{{namespace}}': 'namespace:pod_cpu_usage_seconds_total:sum_rate5m{}' }),
          graph('Memory by namespace', 'bytes', { '{{namespace}}': 'namespace:pod_memory_working_set_bytes:sum{}' }),
          graph('Running pods by node', 'short', { '{{instance}}': `sum by (instance) (${agent}_running_pods{})` }),
          graph('Pods by phase', 'short', { '{{phase}}': `sum by (phase) (${state}_pod_status_phase{})` }),
        ],
      },
    ],
  };
}
