/** Alerts about what users run. */

import type { Names } from '#observe/names.js';
import type { Alert } from '#observe/rules/alert.js';

export function workloadAlerts({ prefix, state }: Names): Alert[] {
  const pod = '{{ $labels.namespace }}/{{ $labels.pod }}';
  const lookAtPod = [
    'orchctl why pod NAME -n NAMESPACE',
    'orchctl describe pod NAME -n NAMESPACE',
    'orchctl logs NAME -n NAMESPACE --previous',
  ];
  return [
    {
      name: `${prefix}PodCrashLooping`,
      expr: `max_over_time(${state}_pod_container_status_waiting_reason{reason="CrashLoopBackOff"}[5m]) >= 1`,
      for: '15m',
      severity: 'warning',
      summary: `The pod ${pod} crashes again and again.`,
      description: `The container {{ $labels.container }} of ${pod} ends soon after each start and waits longer and longer for the next.`,
      runbook: {
        meaning: 'The program ends by itself, is killed (memory, liveness probe), or cannot be started.',
        look: lookAtPod,
        act: 'Its last log, exit code and reason (`OOMKilled`, `Error`) say why. Exit code 137 without OOMKilled: the liveness probe.',
      },
    },
    {
      name: `${prefix}PodNotReady`,
      expr: `sum by (namespace, pod) (${state}_pod_status_phase{phase=~"Pending|Unknown"}) > 0`,
      for: '15m',
      severity: 'warning',
      summary: `The pod ${pod} does not start.`,
      description: `The pod ${pod} has been on its node for 15 minutes and does not run.`,
      runbook: {
        meaning: 'Its node cannot pull its image, mount its volumes, or finish its init containers.',
        look: lookAtPod,
        act: 'The pod’s events say what it waits for.',
      },
    },
    {
      name: `${prefix}ContainerWaiting`,
      expr: `sum by (namespace, pod, container) (${state}_pod_container_status_waiting_reason{reason!="CrashLoopBackOff"}) > 0`,
      for: '1h',
      severity: 'warning',
      summary: `A container of ${pod} waits.`,
      description: `The container {{ $labels.container }} of ${pod} has been waiting for an hour.`,
      runbook: {
        meaning: 'It is not started: its image is not there, for example, or a Secret is missing. The pod says why.',
        look: lookAtPod,
        act: '`ErrImagePull`, `ImagePullBackOff`: name of the image, credentials. `CreateContainerConfigError`: a ConfigMap or Secret is missing.',
      },
    },
    {
      name: `${prefix}ContainerOOMKilled`,
      // A container whose first process is killed goes, and its count with it, before anybody has read that: the next one knows.
      expr: `sum by (namespace, pod, container) (increase(container_oom_events_total{container!=""}[10m])) > 0 or sum by (namespace, pod, container) (increase(${state}_pod_container_status_restarts_total{}[10m]) > 0 and on (namespace, pod, container) ${state}_pod_container_status_last_terminated_reason{reason="OOMKilled"}) > 0`,
      severity: 'warning',
      summary: `A container of ${pod} ran out of memory.`,
      description: `Processes of the container {{ $labels.container }} of ${pod} were killed because they used more memory than its limit.`,
      runbook: {
        meaning: 'The limit is too low, or the program leaks.',
        look: ['orchctl top pods -n NAMESPACE', ...lookAtPod.slice(1)],
        act: 'Raise the limit, or mend the program.',
      },
    },
    {
      name: 'CPUThrottlingHigh',
      expr: 'sum by (namespace, pod, container) (increase(container_cpu_cfs_throttled_periods_total{container!=""}[5m])) / sum by (namespace, pod, container) (increase(container_cpu_cfs_periods_total{container!=""}[5m])) > 0.25',
      for: '15m',
      severity: 'info',
      summary: `A container of ${pod} is held back.`,
      description: `The container {{ $labels.container }} of ${pod} had to wait for CPU in {{ $value | humanizePercentage }} of all periods.`,
      runbook: {
        meaning: 'It would use more CPU than its limit allows, and answers late.',
        look: ['orchctl top pods -n NAMESPACE'],
        act: 'Raise its CPU limit, or take it away: requests alone share CPU fairly.',
      },
    },
    {
      name: `${prefix}JobFailed`,
      expr: 'sum(increase(job_controller_job_finished_total{result="failed"}[15m])) > 0',
      severity: 'warning',
      summary: 'Jobs fail.',
      description: '{{ $value | humanize }} jobs have failed within 15 minutes.',
      runbook: {
        meaning:
          'Their pods failed more often than `backoffLimit` allows, or took longer than `activeDeadlineSeconds`.',
        look: ['orchctl get jobs -A', 'orchctl logs job/NAME -n NAMESPACE'],
        act: 'The job’s condition Failed and the log of its pods say why. Delete the job to be rid of it.',
      },
    },
  ];
}
