import { type Dashboard, graph, number, quantile, rate } from '#observe/dashboards/dashboard.js';

export function schedulerDashboard(): Dashboard {
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
