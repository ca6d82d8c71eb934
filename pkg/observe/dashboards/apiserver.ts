import { type Dashboard, graph, quantile, rate } from '#observe/dashboards/dashboard.js';
import type { Names } from '#observe/names.js';

const chosen = 'instance=~"$instance"';

export function apiServerDashboard({ jobs }: Names): Dashboard {
  const requests = (by: string[], of = chosen) => rate('apiserver_request_total', { by, of });
  const duration = (by: string[], of = '') =>
    quantile(0.99, 'apiserver_request_duration_seconds', {
      by,
      of: `${chosen}, subresource!~"exec|attach|portforward|proxy|log", verb!~"WATCH|CONNECT"${of}`,
    });
  return {
    uid: 'apiserver',
    title: 'API server',
    description: 'Who asks what of the API servers, and how they answer.',
    variables: [{ name: 'instance', of: `up{job="${jobs.apiServer}"}` }],
    rows: [
      {
        title: 'Requests',
        panels: [
          graph('By verb', 'reqps', { '{{verb}}': requests(['verb']) }),
          graph('By code', 'reqps', { '{{code}}': requests(['code']) }),
          graph('By resource, the ten most frequent', 'reqps', {
            '{{resource}}': `topk(10, ${requests(['resource'])})`,
          }),
          graph('Failed', 'percentunit', {
            '5xx': `(${requests([], `${chosen}, code=~"5.."`)} or vector(0)) / ${requests([])}`,
            'turned away': `(${rate('apiserver_dropped_requests_total', { of: chosen })} or vector(0)) / ${requests([])}`,
          }),
          graph('Duration by verb (99%)', 's', { '{{verb}}': duration(['verb']) }),
          graph('Duration by resource (99%), the ten longest', 's', {
            '{{resource}}': `topk(10, ${duration(['resource'])})`,
          }),
          graph('In flight', 'short', {
            '{{instance}} {{request_kind}}': `sum by (instance, request_kind) (apiserver_current_inflight_requests{${chosen}})`,
          }),
          graph('Size of answers (99%)', 'bytes', {
            '{{verb}}': quantile(0.99, 'apiserver_response_sizes', { by: ['verb'], of: chosen }),
          }),
        ],
      },
      {
        title: 'Watches and lists',
        panels: [
          graph('Open watches', 'short', {
            '{{instance}}': `sum by (instance) (apiserver_longrunning_requests{${chosen}, verb="WATCH"})`,
          }),
          graph('Events sent, the ten most frequent kinds', 'ops', {
            '{{kind}}': `topk(10, ${rate('apiserver_watch_events_total', { by: ['kind'], of: chosen })})`,
          }),
          graph('Events that caches took', 'ops', {
            '{{instance}}': rate('apiserver_watch_cache_events_dispatched_total', { by: ['instance'], of: chosen }),
          }),
          graph('Memory of answers on their way', 'bytes', {
            '{{instance}}': `sum by (instance) (apiserver_response_memory_bytes{${chosen}})`,
          }),
        ],
      },
      {
        title: 'On the way',
        panels: [
          graph('Authentication, authorization (99%)', 's', {
            '{{filter}}': quantile(0.99, 'apiserver_request_filter_duration_seconds', { by: ['filter'], of: chosen }),
          }),
          graph('Admission (99%)', 's', {
            '{{operation}} {{type}}': quantile(0.99, 'apiserver_admission_step_admission_duration_seconds', {
              by: ['operation', 'type'],
              of: chosen,
            }),
          }),
          graph('Store (99%)', 's', {
            '{{operation}}': quantile(0.99, 'etcd_request_duration_seconds', { by: ['operation'], of: chosen }),
          }),
          graph('Authenticated, by result', 'reqps', {
            '{{result}}': rate('authentication_attempts', { by: ['result'], of: chosen }),
          }),
        ],
      },
      {
        title: 'Process',
        panels: [
          graph('CPU', 'cores', {
            '{{instance}}': rate('process_cpu_seconds_total', {
              by: ['instance'],
              of: `${chosen}, job="${jobs.apiServer}"`,
            }),
          }),
          graph('Memory', 'bytes', {
            '{{instance}}': `sum by (instance) (process_resident_memory_bytes{${chosen}, job="${jobs.apiServer}"})`,
          }),
          graph('Event loop (99%)', 's', {
            '{{instance}}': `max by (instance) (nodejs_eventloop_lag_p99_seconds{${chosen}, job="${jobs.apiServer}"})`,
          }),
          graph('Objects, the ten most numerous', 'short', {
            '{{resource}}': `topk(10, max by (resource) (apiserver_storage_objects{${chosen}}))`,
          }),
        ],
      },
    ],
  };
}
