/** Alerts about nodes and their agents. */

import type { Names } from '#observe/names.js';
import type { Alert } from '#observe/rules/alert.js';

export function nodeAlerts({ prefix, agent, agentAlert, jobs }: Names): Alert[] {
  const byInstance = (name: string, of = '') => `max by (instance) (${name}{${of}})`;
  const p99 = (name: string) => `histogram_quantile(0.99, sum by (instance, le) (rate(${agent}_${name}_bucket{}[5m])))`;
  const passes = (series: string) => `sum by (instance) (rate(${agent}_pod_worker_duration_seconds_${series}[5m]))`;
  const room = {
    look: ['orchctl top nodes', 'orchctl top pods -A'],
    act: 'Move pods away (`orchctl drain`), give them limits, or add a node (`orch join`).',
  };
  const volumeFree = `${agent}_volume_stats_available_bytes{} / ${agent}_volume_stats_capacity_bytes{}`;
  const volume = {
    name: `${prefix}PersistentVolumeFillingUp`,
    summary: 'The volume of {{ $labels.namespace }}/{{ $labels.persistentvolumeclaim }} fills up.',
    runbook: {
      meaning: 'The volume that the claim is bound to has hardly any room left.',
      look: ['orchctl describe pvc NAME -n NAMESPACE', 'orchctl exec POD -n NAMESPACE -- df -h'],
      act: 'Delete what is not needed, or let the claim ask for more where its class allows expansion.',
    },
  };
  return [
    {
      name: `${agentAlert}Down`,
      expr: `absent(up{job="${jobs.agent}", metrics_path="/metrics"} == 1)`,
      for: '5m',
      severity: 'critical',
      summary: 'No node agent answers.',
      description: 'No node agent has answered Prometheus for five minutes.',
      runbook: {
        meaning: 'No agent runs, Prometheus does not reach them (port 10250), or finds none.',
        look: ['orchctl get nodes', `tail -n 50 DATA_DIR/logs/${agent}*.log DATA_DIR/logs/orch.log`],
        act: 'Where the nodes are Ready it is the way from Prometheus to them: network, certificate, rights (`orch observe` grants these).',
      },
    },
    {
      name: `${prefix}NodeNotReady`,
      expr: 'sum by (zone) (node_collector_unhealthy_nodes_in_zone{}) > 0',
      for: '15m',
      severity: 'warning',
      summary: '{{ $value }} nodes are not Ready.',
      description:
        '{{ $value }} nodes{{ if $labels.zone }} of the zone {{ $labels.zone }}{{ end }} have not been Ready for 15 minutes.',
      runbook: {
        meaning:
          'Their agents do not report, or say that they cannot run pods. Pods are taken away from them after five minutes.',
        look: ['orchctl get nodes', 'orchctl describe node NAME'],
        act: 'The condition Ready says why: the runtime, the network, or nothing heard from the agent (then look at the machine).',
      },
    },
    {
      name: `${agentAlert}PlegDurationHigh`,
      expr: `${p99('pleg_relist_duration_seconds')} >= 5`,
      for: '5m',
      severity: 'warning',
      summary: 'The container runtime of {{ $labels.instance }} is slow.',
      description: 'Listing the containers of {{ $labels.instance }} takes {{ $value | humanizeDuration }}.',
      runbook: {
        meaning: 'The agent learns late what became of containers.',
        look: ['crictl ps', 'journalctl --unit containerd --since -1h'],
        act: 'Look at disk and CPU of the machine, and at how many dead containers there are.',
      },
    },
    {
      name: `${agentAlert}PodStartUpLatencyHigh`,
      // Ten seconds is the longest that the series tells apart.
      expr: `1 - ${passes('bucket{le="10"}')} / ${passes('count{}')} > 0.05`,
      for: '15m',
      severity: 'warning',
      summary: 'Pods of {{ $labels.instance }} start slowly.',
      description:
        '{{ $value | humanizePercentage }} of the passes over pods of {{ $labels.instance }} take longer than ten seconds.',
      runbook: {
        meaning: 'Images are pulled slowly, volumes are not there, or the runtime is slow.',
        look: [
          'orchctl get events -A --field-selector involvedObject.kind=Pod',
          '# the dashboard Nodes: operations of the runtime',
        ],
        act: 'Events of the pods say what they wait for.',
      },
    },
    {
      name: `${agentAlert}RuntimeErrors`,
      expr: `sum by (instance, operation_type) (rate(${agent}_runtime_operations_errors_total{}[10m])) / sum by (instance, operation_type) (rate(${agent}_runtime_operations_total{}[10m])) > 0.1`,
      for: '15m',
      severity: 'warning',
      summary: 'The container runtime of {{ $labels.instance }} fails.',
      description:
        '{{ $value | humanizePercentage }} of the operations {{ $labels.operation_type }} of {{ $labels.instance }} fail.',
      runbook: {
        meaning: 'The runtime refuses, or does not do, what the agent asks.',
        look: [`tail -n 50 DATA_DIR/logs/${agent}*.log`, 'journalctl --unit containerd --since -1h'],
        act: 'Errors of `pull_image` are those of registries or names of images; all others are the machine’s: disk, memory, cgroups.',
      },
    },
    {
      name: `${agentAlert}EvictingPods`,
      expr: `sum by (instance, eviction_signal) (increase(${agent}_evictions{}[10m])) > 0`,
      severity: 'warning',
      summary: 'The node {{ $labels.instance }} evicts pods.',
      description: 'Pods of {{ $labels.instance }} were evicted: they went beyond {{ $labels.eviction_signal }}.',
      runbook: {
        meaning: 'A pod held more on disk than it may: in a volume, by its containers, or by both together.',
        look: ['orchctl get pods -A --field-selector status.phase=Failed', 'orchctl describe pod NAME -n NAMESPACE'],
        act: 'Its status says how much it may hold. Let it write less, or raise the `sizeLimit` of its volume or its limit of `ephemeral-storage`.',
      },
    },
    {
      name: 'NodeCPUHighUsage',
      expr: `sum by (instance) (rate(node_cpu_usage_seconds_total{}[5m])) / ${byInstance('machine_cpu_cores')} > 0.9`,
      for: '15m',
      severity: 'info',
      summary: 'The CPUs of {{ $labels.instance }} are busy.',
      description:
        'The node {{ $labels.instance }} has been using {{ $value | humanizePercentage }} of its CPUs for 15 minutes.',
      runbook: { meaning: 'Pods get less CPU than they could use.', ...room },
    },
    {
      name: 'NodeMemoryHighUtilization',
      expr: `${byInstance('node_memory_working_set_bytes')} / ${byInstance('machine_memory_bytes')} > 0.9`,
      for: '15m',
      severity: 'warning',
      summary: 'The memory of {{ $labels.instance }} is almost used up.',
      description:
        'The node {{ $labels.instance }} has been using {{ $value | humanizePercentage }} of its memory for 15 minutes.',
      runbook: { meaning: 'Soon pods are evicted, or killed by the kernel.', ...room },
    },
    {
      ...volume,
      expr: `${volumeFree} < 0.03`,
      for: '1m',
      severity: 'critical',
      description:
        'Only {{ $value | humanizePercentage }} of the volume of {{ $labels.namespace }}/{{ $labels.persistentvolumeclaim }} are free.',
    },
    {
      ...volume,
      expr: `${volumeFree} < 0.15 and predict_linear(${agent}_volume_stats_available_bytes{}[6h], 4 * 86400) < 0`,
      for: '1h',
      severity: 'warning',
      description:
        'The volume of {{ $labels.namespace }}/{{ $labels.persistentvolumeclaim }} will be full within four days; {{ $value | humanizePercentage }} are free.',
    },
  ];
}
