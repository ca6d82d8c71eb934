import { type Dashboard, graph, quantile, rate, table } from '#observe/dashboards/dashboard.js';

export function controllersDashboard(): Dashboard {
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
