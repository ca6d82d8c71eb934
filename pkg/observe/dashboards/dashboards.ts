import { apiServerDashboard } from '#observe/dashboards/apiserver.js';
import { type Dashboard, graph, number, quantile, rate, table } from '#observe/dashboards/dashboard.js';
import { etcdDashboard } from '#observe/dashboards/etcd.js';
import { nodesDashboard } from '#observe/dashboards/nodes.js';
import type { Names } from '#observe/names.js';

export function dashboards(names: Names): Dashboard[] {
  return [
    clusterDashboard(names),
    apiServerDashboard(names),
    etcdDashboard(names),
    schedulerDashboard(),
    controllersDashboard(),
    nodesDashboard(names),
    workloadsDashboard(names),
  ];
}

function clusterDashboard({ agent, jobs, state }: Names): Dashboard {
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

function controllersDashboard(): Dashboard {
  const of = 'name=~"$name"';
  const by = ['name'];
  return {
    uid: 'controllers',
    title: 'Controllers',
    description: 'What the controllers do, and how far they are behind.',
    variables: [{ name: 'name', of: 'workqueue_depth{}' }],
    rows: [
      {
        title: 'Queues',
        panels: [
          graph('Objects that wait', 'short', { '{{name}}': `sum by (name) (workqueue_depth{${of}})` }),
          graph('Objects that come', 'ops', { '{{name}}': rate('workqueue_adds_total', { by, of }) }),
          graph('How long objects wait (99%)', 's', {
            '{{name}}': quantile(0.99, 'workqueue_queue_duration_seconds', { by, of }),
          }),
          graph('How long work on one takes (99%)', 's', {
            '{{name}}': quantile(0.99, 'workqueue_work_duration_seconds', { by, of }),
          }),
          graph('Retries', 'ops', { '{{name}}': rate('workqueue_retries_total', { by, of }) }),
          graph('Longest work under way', 's', {
            '{{name}}': `max by (name) (workqueue_longest_running_processor_seconds{${of}})`,
          }),
        ],
      },
      {
        title: 'Work',
        panels: [
          graph('By result', 'ops', { '{{result}}': rate('controller_reconciles_total', { by: ['result'] }) }),
          graph('By controller, the ten busiest', 'ops', {
            '{{controller}}': `topk(10, ${rate('controller_reconciles_total', { by: ['controller'] })})`,
          }),
          table(
            'Failed within an hour',
            'short',
            'sum by (controller) (increase(controller_reconciles_total{result=~"retry|terminal"}[1h]))',
          ),
          graph('Objects known', 'short', { '{{resource}}': 'topk(10, max by (resource) (informer_objects{}))' }),
        ],
      },
      {
        title: 'Requests of daemons to the API',
        panels: [
          graph('By code', 'reqps', {
            '{{job}} {{code}}': rate('rest_client_requests_total', { by: ['job', 'code'] }),
          }),
          graph('Duration (99%)', 's', {
            '{{job}} {{verb}}': quantile(0.99, 'rest_client_request_duration_seconds', { by: ['job', 'verb'] }),
          }),
        ],
      },
    ],
  };
}

function schedulerDashboard(): Dashboard {
  const cache = (type: string) => `max(scheduler_scheduler_cache_size{type="${type}"})`;
  return {
    uid: 'scheduler',
    title: 'Scheduler',
    description: 'How fast pods get nodes, and what keeps them from it.',
    rows: [
      {
        title: 'Now',
        panels: [
          number('Nodes', 'short', cache('nodes')),
          number('Pods', 'short', cache('pods')),
          number('Bound, not seen yet', 'short', cache('assumed_pods')),
          number('Ready to be scheduled', 'short', 'sum(scheduler_pending_pods{queue="active"})'),
          number('Waiting to try again', 'short', 'sum(scheduler_pending_pods{queue="backoff"})'),
          number('Fit nowhere', 'short', 'sum(scheduler_pending_pods{queue="unschedulable"})'),
        ],
      },
      {
        title: 'Pods',
        panels: [
          graph('Attempts', 'ops', { '{{result}}': rate('scheduler_schedule_attempts_total', { by: ['result'] }) }),
          graph('Time until a pod has a node', 's', {
            '50%': quantile(0.5, 'scheduler_pod_scheduling_duration_seconds'),
            '99%': quantile(0.99, 'scheduler_pod_scheduling_duration_seconds'),
          }),
          graph('Duration of an attempt', 's', {
            '50%': quantile(0.5, 'scheduler_scheduling_attempt_duration_seconds'),
            '99%': quantile(0.99, 'scheduler_scheduling_attempt_duration_seconds'),
          }),
          graph('Attempts that a pod took (99%)', 'short', {
            attempts: quantile(0.99, 'scheduler_pod_scheduling_attempts'),
          }),
          graph('Pods that wait', 'short', { '{{queue}}': 'sum by (queue) (scheduler_pending_pods{})' }),
          graph('Pods that come into queues', 'ops', {
            '{{queue}} {{event}}': rate('scheduler_queue_incoming_pods_total', { by: ['queue', 'event'] }),
          }),
        ],
      },
      {
        title: 'Within an attempt',
        panels: [
          graph('Stages (99%)', 's', {
            '{{extension_point}}': quantile(0.99, 'scheduler_framework_extension_point_duration_seconds', {
              by: ['extension_point'],
            }),
          }),
          graph('Plugins (99%), the ten longest', 's', {
            '{{plugin}} {{extension_point}}': `topk(10, ${quantile(0.99, 'scheduler_plugin_execution_duration_seconds', { by: ['plugin', 'extension_point'] })})`,
          }),
          graph('Plugins that reject pods', 'short', {
            '{{plugin}}': 'sum by (plugin) (scheduler_unschedulable_pods{})',
          }),
          graph('Preemptions', 'ops', { attempts: rate('scheduler_preemption_attempts_total') }),
        ],
      },
    ],
  };
}

function workloadsDashboard({ state }: Names): Dashboard {
  const of = 'namespace=~"$namespace"';
  const pods = `sum by (namespace, pod)`;
  const containers = 'sum by (namespace, pod, container)';
  return {
    uid: 'workloads',
    title: 'Workloads',
    description: 'What users run, by namespace: whether it runs, and what it uses.',
    variables: [{ name: 'namespace', of: `${state}_pod_status_phase{}` }],
    rows: [
      {
        title: 'Pods',
        panels: [
          number('Pods', 'short', `sum(${state}_pod_status_phase{${of}})`),
          number('Running', 'short', `sum(${state}_pod_status_phase{${of}, phase="Running"}) or vector(0)`),
          number('Ready', 'short', `sum(${state}_pod_status_ready{${of}, condition="true"}) or vector(0)`),
          number(
            'Containers that wait',
            'short',
            `sum(${state}_pod_container_status_waiting_reason{${of}}) or vector(0)`,
          ),
          number('Restarts', 'short', `sum(${state}_pod_container_status_restarts_total{${of}})`),
        ],
      },
      {
        title: 'State',
        panels: [
          graph('By phase', 'short', { '{{phase}}': `sum by (phase) (${state}_pod_status_phase{${of}})` }),
          table(
            'Restarts within an hour',
            'short',
            `topk(20, ${containers} (increase(${state}_pod_container_status_restarts_total{${of}}[1h])))`,
          ),
        ],
      },
      {
        title: 'Use, the twenty largest',
        panels: [
          graph('CPU of pods', 'cores', {
            '{{namespace}}/{{pod}}': `topk(20, ${pods} (rate(pod_cpu_usage_seconds_total{${of}}[$__rate_interval])))`,
          }),
          graph('Memory of pods', 'bytes', {
            '{{namespace}}/{{pod}}': `topk(20, ${pods} (pod_memory_working_set_bytes{${of}}))`,
          }),
          graph('CPU of containers', 'cores', {
            '{{namespace}}/{{pod}} {{container}}': `topk(20, ${containers} (rate(container_cpu_usage_seconds_total{${of}, container!="", metrics_path="/metrics/resource"}[$__rate_interval])))`,
          }),
          graph('Memory of containers', 'bytes', {
            '{{namespace}}/{{pod}} {{container}}': `topk(20, ${containers} (container_memory_working_set_bytes{${of}, container!="", metrics_path="/metrics/resource"}))`,
          }),
          table(
            'Running since',
            'dateTimeFromNow',
            `1000 * max by (namespace, pod, container) (container_start_time_seconds{${of}, container!="", metrics_path="/metrics/resource"})`,
          ),
        ],
      },
    ],
  };
}
