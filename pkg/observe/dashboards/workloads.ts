import { type Dashboard, graph, number, table } from '#observe/dashboards/dashboard.js';
import type { Names } from '#observe/names.js';

export function workloadsDashboard({ state }: Names): Dashboard {
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
