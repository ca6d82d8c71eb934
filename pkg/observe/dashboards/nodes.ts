import { type Dashboard, graph, quantile, rate, table } from '#observe/dashboards/dashboard.js';
import type { Names } from '#observe/names.js';

export function nodesDashboard({ agent, jobs }: Names): Dashboard {
  const of = 'instance=~"$instance"';
  const by = ['instance'];
  const max = (name: string) => `max by (instance) (${name}{${of}})`;
  const sum = (name: string, by: string) => `sum by (${by}) (${agent}_${name}{${of}})`;
  return {
    uid: 'nodes',
    title: 'Nodes',
    description: 'The machines, their agents and container runtimes.',
    variables: [{ name: 'instance', of: `up{job="${jobs.agent}"}` }],
    rows: [
      {
        title: 'Machines',
        panels: [
          graph('CPU', 'percentunit', {
            '{{instance}}': `${max('instance:node_cpu:rate5m')} / ${max('machine_cpu_cores')}`,
          }),
          graph('Memory', 'percentunit', {
            '{{instance}}': `${max('node_memory_working_set_bytes')} / ${max('machine_memory_bytes')}`,
          }),
          table('CPUs', 'short', max('machine_cpu_cores')),
          table('Memory', 'bytes', max('machine_memory_bytes')),
        ],
      },
      {
        title: 'Pods',
        panels: [
          graph('Running pods', 'short', { '{{instance}}': sum('running_pods', 'instance') }),
          graph('Containers', 'short', { '{{container_state}}': sum('running_containers', 'container_state') }),
          graph('Containers started', 'ops', { '{{instance}}': rate(`${agent}_started_containers_total`, { by, of }) }),
          graph('From seeing a pod to its start', 's', {
            '50%': quantile(0.5, `${agent}_pod_start_duration_seconds`, { of }),
            '99%': quantile(0.99, `${agent}_pod_start_duration_seconds`, { of }),
          }),
          graph('Passes over pods (99%)', 's', {
            '{{operation_type}}': quantile(0.99, `${agent}_pod_worker_duration_seconds`, {
              by: ['operation_type'],
              of,
            }),
          }),
          graph('Probes', 'ops', {
            '{{probe_type}} {{result}}': rate('prober_probe_total', { by: ['probe_type', 'result'], of }),
          }),
        ],
      },
      {
        title: 'Container runtime',
        panels: [
          graph('Operations', 'ops', {
            '{{operation_type}}': rate(`${agent}_runtime_operations_total`, { by: ['operation_type'], of }),
          }),
          graph('Duration (99%)', 's', {
            '{{operation_type}}': quantile(0.99, `${agent}_runtime_operations_duration_seconds`, {
              by: ['operation_type'],
              of,
            }),
          }),
          graph('Failed', 'ops', {
            '{{operation_type}}': `${rate(`${agent}_runtime_operations_errors_total`, { by: ['operation_type'], of })} or 0 * ${rate(`${agent}_runtime_operations_total`, { by: ['operation_type'], of })}`,
          }),
          // Once a minute at most: changes are told in between, so a rate is mostly one of nothing.
          graph('Listing all containers, on average', 's', {
            '{{instance}}': `${sum('pleg_relist_duration_seconds_sum', 'instance')} / ${sum('pleg_relist_duration_seconds_count', 'instance')}`,
          }),
        ],
      },
      {
        title: 'Agents',
        panels: [
          graph('CPU', 'cores', {
            '{{instance}}': rate('process_cpu_seconds_total', {
              by,
              of: `${of}, job=~"${jobs.agent}|${jobs.apiServer}"`,
            }),
          }),
          graph('Memory', 'bytes', {
            '{{instance}}': `sum by (instance) (process_resident_memory_bytes{job=~"${jobs.agent}|${jobs.apiServer}"})`,
          }),
        ],
      },
    ],
  };
}
