/** Alerts about the scheduler and the controllers, wherever they run: alone, or in the process of the API server. */

import type { Names } from '#observe/names.js';
import type { Alert } from '#observe/rules/alert.js';

export function loopAlerts({ prefix, dialect }: Names): Alert[] {
  const { scheduler, controllerManager } = dialect.components;
  const logs = (component: string) => `tail -n 50 DATA_DIR/logs/orch.log DATA_DIR/logs/${component}.log`;
  return [
    {
      name: `${prefix}SchedulerDown`,
      expr: 'absent(scheduler_scheduler_cache_size{type="nodes"})',
      for: '5m',
      severity: 'critical',
      summary: 'No scheduler works.',
      description: 'No scheduler has told of its work for five minutes.',
      runbook: {
        meaning: 'New pods stay Pending. What runs goes on running.',
        look: [logs(scheduler), `orchctl get lease ${scheduler} -n ${dialect.namespaces.system} -o yaml`],
        act: 'Start one. Where it runs, its log says why it does not lead: mostly it reaches no API server.',
      },
    },
    {
      name: `${prefix}ControllerManagerDown`,
      expr: 'absent(workqueue_depth{name="deployment"})',
      for: '5m',
      severity: 'critical',
      summary: 'No controller manager works.',
      description: 'No controller manager has told of its work for five minutes.',
      runbook: {
        meaning: 'Deployments, jobs, endpoints and nodes are looked after by nobody: what fails is not replaced.',
        look: [
          logs(controllerManager),
          `orchctl get lease ${controllerManager} -n ${dialect.namespaces.system} -o yaml`,
        ],
        act: 'Start one. Where it runs, its log says why it does not lead: mostly it reaches no API server.',
      },
    },
    {
      name: `${prefix}PodsUnschedulable`,
      expr: 'sum(scheduler_pending_pods{queue="unschedulable"}) > 0',
      for: '15m',
      severity: 'warning',
      summary: '{{ $value }} pods fit on no node.',
      description: '{{ $value }} pods have been waiting for 15 minutes for a node that takes them.',
      runbook: {
        meaning:
          'No node has the room, the labels or the volumes that these pods ask for, or tolerations for its taints are missing.',
        look: ['orchctl get pods -A --field-selector status.phase=Pending', 'orchctl why pod NAME -n NAMESPACE'],
        act: '`why` says what each node lacks. Add a node (`orch join`), or ask for less.',
      },
    },
    {
      name: `${prefix}SchedulerErrors`,
      expr: 'sum(rate(scheduler_schedule_attempts_total{result="error"}[5m])) > 0',
      for: '10m',
      severity: 'warning',
      summary: 'Scheduling fails.',
      description: '{{ $value | humanize }} attempts to schedule a pod fail each second.',
      runbook: {
        meaning: 'Not for want of room: the scheduler itself, an extender or the API server failed.',
        look: [logs(scheduler)],
        act: 'The log names the pod and the error.',
      },
    },
    {
      name: `${prefix}ControllerBehind`,
      expr: 'max by (job, name) (workqueue_depth{}) > 100',
      for: '15m',
      severity: 'warning',
      summary: 'The controller {{ $labels.name }} falls behind.',
      description:
        '{{ $value }} objects have been waiting in the queue {{ $labels.name }} of {{ $labels.job }} for 15 minutes.',
      runbook: {
        meaning: 'More changes than the controller gets done: what users ask for happens late.',
        look: ['# the dashboard Controllers: how long one object takes, and how often it is tried again'],
        act: 'If single objects take long, see the API server. Else let it work on more at once: `--concurrent-…-syncs`.',
      },
    },
    {
      name: `${prefix}ControllerStuck`,
      expr: 'max by (job, name) (workqueue_longest_running_processor_seconds{}) > 300',
      for: '5m',
      severity: 'warning',
      summary: 'The controller {{ $labels.name }} is stuck.',
      description:
        'The controller {{ $labels.name }} of {{ $labels.job }} has been working on one object for {{ $value | humanizeDuration }}.',
      runbook: {
        meaning: 'It waits for somebody who does not answer: a cloud, a webhook, an extension API server.',
        look: [logs(controllerManager)],
        act: 'Mend that one. Starting the controller manager again gives it up, too.',
      },
    },
    {
      name: `${prefix}ControllerErrors`,
      expr: 'sum by (controller) (rate(controller_reconciles_total{result=~"retry|terminal"}[10m])) / sum by (controller) (rate(controller_reconciles_total{}[10m])) > 0.5',
      for: '15m',
      severity: 'warning',
      summary: 'The controller {{ $labels.controller }} fails.',
      description: '{{ $value | humanizePercentage }} of what the controller {{ $labels.controller }} did has failed.',
      runbook: {
        meaning:
          'Most of its attempts end with an error: it lacks rights, is refused by an admission plugin, or reaches nobody.',
        look: [logs(controllerManager), 'orchctl get events -A'],
        act: 'The log names object and error.',
      },
    },
  ];
}
