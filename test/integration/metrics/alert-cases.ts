/**
 * The cause and end of each alert as series, one value per minute, in promtool's notation. All cases happen in one cluster:
 * a series has the same values in all of its cases.
 */
import type { Names } from '#observe/names.js';

export interface AlertCase {
  readonly alert: string;
  /** Distinguishes alerts of the same name. */
  readonly severity?: string;
  /** Values by series; bad at first, then good. */
  readonly series: Readonly<Record<string, string>>;
  /** Minute by which it fires, and by which it has ended. */
  readonly fires?: number;
  readonly ended?: number;
}

const bad = (value: number, good: number) => `${value}x60 ${good}x60`;
const counted = '0+10x60 610x60';
const goesOn = '0+60x120';
const gone = '1x60 _x60';
const appears = '_x60 1x60';

/** Buckets of a histogram whose observations, for an hour, are between `low` and `high`. */
function between(name: string, labels: string, low: string, high: string): Record<string, string> {
  return {
    [`${name}_bucket{${labels}, le="${low}"}`]: '0x120',
    [`${name}_bucket{${labels}, le="${high}"}`]: counted,
    [`${name}_bucket{${labels}, le="+Inf"}`]: counted,
  };
}

export function alertCases(names: Names): AlertCase[] {
  const { dialect, prefix: p, agent, agentAlert, dnsAlert, jobs, state } = names;
  const member = (number: number) => `instance="e${number}", job="${jobs.etcd}"`;
  const etcd = member(1);
  const container = 'namespace="n", pod="p", container="c"';
  const lost = {
    [`up{${member(1)}}`]: '1x120',
    [`up{${member(2)}}`]: bad(0, 1),
    [`up{${member(3)}}`]: bad(0, 1),
  };
  const volume = (claim: string, available: string) => ({
    [`${agent}_volume_stats_available_bytes{namespace="n", persistentvolumeclaim="${claim}"}`]: available,
    [`${agent}_volume_stats_capacity_bytes{namespace="n", persistentvolumeclaim="${claim}"}`]: '100x180',
  });
  const successful = { 'apiserver_request_total{code="200"}': '0+60x600' };
  const burning = {
    'apiserver_request_duration_seconds_count{verb="GET"}': '0x600',
    'apiserver_request_duration_seconds_bucket{verb="GET", le="1"}': '0x600',
    ...successful,
    'apiserver_request_total{code="500"}': '0+60x90 5460x500',
  };
  return [
    { alert: 'TargetDown', series: { 'up{job="a", instance="1"}': bad(0, 1), 'up{job="a", instance="2"}': '1x120' } },
    ...['critical', 'warning'].map((severity) => ({
      alert: `${p}CertificateExpiring`,
      severity,
      series: {
        'certificate_expiration_timestamp_seconds{job="a", instance="1", role="serving"}': bad(86_400, 86_400 * 300),
        [`${agent}_certificate_manager_client_ttl_seconds{job="b", instance="2"}`]: bad(3600, 86_400 * 100),
      },
    })),
    {
      alert: `${p}DaemonRestarting`,
      series: { 'process_start_time_seconds{job="a", instance="1"}': '0+1x20 20x100' },
      fires: 20,
      ended: 60,
    },
    { alert: `${p}EventLoopSlow`, series: { 'nodejs_eventloop_lag_p99_seconds{job="a"}': bad(1, 0) } },
    {
      alert: `${p}VersionMismatch`,
      series: {
        [`${dialect.product}_build_info{git_version="v1"}`]: '1x180',
        [`${dialect.product}_build_info{git_version="v2"}`]: '1x90 _x90',
      },
      fires: 80,
      ended: 120,
    },
    { alert: `${p}APIDown`, series: { [`up{job="${jobs.apiServer}"}`]: bad(0, 1) } },
    { alert: `${p}APIErrorBudgetBurn`, severity: 'critical', series: burning, fires: 60, ended: 120 },
    { alert: `${p}APIErrorBudgetBurn`, severity: 'warning', series: burning, fires: 60, ended: 200 },
    {
      alert: `${p}APITerminatedRequests`,
      series: {
        'apiserver_request_terminations_total{code="429"}': '0+60x60 3660x60',
        ...successful,
      },
    },
    { alert: `${p}APIResponsesRefused`, series: { 'apiserver_refused_responses_total{instance="i"}': counted } },
    {
      alert: `${p}ClientErrors`,
      series: {
        'rest_client_requests_total{job="a", instance="i", code="<error>"}': counted,
        'rest_client_requests_total{job="a", instance="i", code="200"}': goesOn,
      },
    },
    { alert: `${p}AggregatedAPIDown`, series: { 'aggregator_unavailable_apiservice{name="v1.a"}': bad(1, 0) } },
    {
      alert: `${p}AdmissionWebhookFailing`,
      series: {
        'apiserver_admission_webhook_rejection_count{name="w", error_type="calling_webhook_error"}': counted,
      },
    },
    { alert: `${p}AuditErrors`, series: { 'apiserver_audit_error_total{plugin="log"}': counted } },
    { alert: 'etcdMembersDown', series: lost },
    { alert: 'etcdInsufficientMembers', series: lost },
    { alert: 'etcdNoLeader', series: { [`etcd_server_has_leader{${etcd}}`]: bad(0, 1) } },
    { alert: 'etcdHighNumberOfLeaderChanges', series: { [`etcd_server_leader_changes_seen_total{${etcd}}`]: counted } },
    { alert: 'etcdHighNumberOfFailedProposals', series: { [`etcd_server_proposals_failed_total{${etcd}}`]: counted } },
    {
      alert: 'etcdMemberCommunicationSlow',
      series: between('etcd_network_peer_round_trip_time_seconds', `${etcd}, To="e2"`, '0.1', '0.4'),
    },
    { alert: 'etcdHighFsyncDurations', series: between('etcd_disk_wal_fsync_duration_seconds', etcd, '0.5', '1') },
    {
      alert: 'etcdHighCommitDurations',
      series: between('etcd_disk_backend_commit_duration_seconds', etcd, '0.2', '0.5'),
    },
    {
      alert: 'etcdDatabaseQuotaLowSpace',
      series: {
        [`etcd_mvcc_db_total_size_in_bytes{${etcd}}`]: bad(96, 10),
        [`etcd_server_quota_backend_bytes{${etcd}}`]: '100x120',
      },
    },
    {
      alert: 'etcdExcessiveDatabaseGrowth',
      series: {
        [`etcd_mvcc_db_total_size_in_bytes{${member(2)}}`]: '0+1x60 60x240',
        [`etcd_server_quota_backend_bytes{${member(2)}}`]: '100x300',
      },
      ended: 270,
    },
    {
      alert: 'etcdDatabaseHighFragmentationRatio',
      series: {
        [`etcd_mvcc_db_total_size_in_use_in_bytes{${member(3)}}`]: bad(200_000_000, 900_000_000),
        [`etcd_mvcc_db_total_size_in_bytes{${member(3)}}`]: '1000000000x120',
      },
    },
    { alert: `${p}SchedulerDown`, series: { 'scheduler_scheduler_cache_size{type="nodes"}': appears } },
    { alert: `${p}ControllerManagerDown`, series: { 'workqueue_depth{name="deployment"}': appears } },
    { alert: `${p}PodsUnschedulable`, series: { 'scheduler_pending_pods{queue="unschedulable"}': bad(3, 0) } },
    { alert: `${p}SchedulerErrors`, series: { 'scheduler_schedule_attempts_total{result="error"}': counted } },
    { alert: `${p}ControllerBehind`, series: { 'workqueue_depth{job="m", name="job"}': bad(500, 0) } },
    {
      alert: `${p}ControllerStuck`,
      series: { 'workqueue_longest_running_processor_seconds{job="m", name="job"}': bad(400, 0) },
    },
    {
      alert: `${p}ControllerErrors`,
      series: {
        'controller_reconciles_total{controller="job", result="retry"}': counted,
        'controller_reconciles_total{controller="job", result="done"}': '0+1x120',
      },
    },
    { alert: `${agentAlert}Down`, series: { [`up{job="${jobs.agent}", metrics_path="/metrics"}`]: bad(0, 1) } },
    { alert: `${p}NodeNotReady`, series: { 'node_collector_unhealthy_nodes_in_zone{zone=""}': bad(1, 0) } },
    {
      alert: `${agentAlert}PlegDurationHigh`,
      series: between(`${agent}_pleg_relist_duration_seconds`, 'instance="i"', '5', '10'),
    },
    {
      alert: `${agentAlert}PodStartUpLatencyHigh`,
      series: {
        [`${agent}_pod_worker_duration_seconds_bucket{instance="i", le="10"}`]: '0+54x60 3240+60x60',
        [`${agent}_pod_worker_duration_seconds_count{instance="i"}`]: goesOn,
      },
    },
    {
      alert: `${agentAlert}RuntimeErrors`,
      series: {
        [`${agent}_runtime_operations_errors_total{instance="i", operation_type="pull_image"}`]: counted,
        [`${agent}_runtime_operations_total{instance="i", operation_type="pull_image"}`]: goesOn,
      },
    },
    {
      alert: `${agentAlert}EvictingPods`,
      series: { [`${agent}_evictions{instance="i", eviction_signal="memory.available"}`]: counted },
    },
    {
      alert: 'NodeCPUHighUsage',
      series: {
        'node_cpu_usage_seconds_total{instance="i"}': '0+120x60 7320x60',
        'machine_cpu_cores{instance="i"}': '2x120',
      },
    },
    {
      alert: 'NodeMemoryHighUtilization',
      series: {
        'node_memory_working_set_bytes{instance="i"}': bad(95, 10),
        'machine_memory_bytes{instance="i"}': '100x120',
      },
    },
    {
      alert: `${p}PersistentVolumeFillingUp`,
      severity: 'critical',
      series: volume('full', bad(1, 50)),
    },
    {
      alert: `${p}PersistentVolumeFillingUp`,
      severity: 'warning',
      series: volume('filling', '14-0.05x120 50x60'),
      fires: 100,
      ended: 150,
    },
    {
      alert: `${p}PodCrashLooping`,
      series: { [`${state}_pod_container_status_waiting_reason{${container}, reason="CrashLoopBackOff"}`]: gone },
    },
    {
      alert: `${p}PodNotReady`,
      series: { [`${state}_pod_status_phase{namespace="n", pod="p", phase="Pending"}`]: gone },
    },
    {
      alert: `${p}ContainerWaiting`,
      series: { [`${state}_pod_container_status_waiting_reason{${container}, reason="ErrImagePull"}`]: '1x90 _x60' },
      fires: 80,
      ended: 110,
    },
    { alert: `${p}ContainerOOMKilled`, series: { [`container_oom_events_total{${container}}`]: counted } },
    {
      alert: 'CPUThrottlingHigh',
      series: {
        [`container_cpu_cfs_throttled_periods_total{${container}}`]: '0+30x60 1830x60',
        [`container_cpu_cfs_periods_total{${container}}`]: goesOn,
      },
    },
    { alert: `${p}JobFailed`, series: { 'job_controller_job_finished_total{result="failed"}': counted } },
    {
      alert: `${dnsAlert}ErrorsHigh`,
      series: {
        [`${dialect.dnsMetricsPrefix}_dns_responses_total{instance="i", rcode="SERVFAIL"}`]: counted,
        [`${dialect.dnsMetricsPrefix}_dns_responses_total{instance="i", rcode="NOERROR"}`]: goesOn,
      },
    },
    {
      alert: `${p}ProxySyncFailing`,
      series: {
        [`${dialect.proxyMetricsPrefix}_sync_proxy_rules_nftables_sync_failures_total{instance="i"}`]: counted,
      },
    },
    {
      alert: `${p}IngressErrors`,
      series: {
        'ingress_requests_total{ingress="i", code="5xx"}': counted,
        'ingress_requests_total{ingress="i", code="2xx"}': goesOn,
      },
    },
    { alert: `${p}IngressProblems`, series: { 'ingress_problems{job="i", instance="i"}': bad(1, 0) } },
  ];
}
