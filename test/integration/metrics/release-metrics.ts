/**
 * What the daemons of release 1.24 expose, as far as it can be true here: name, type, stability, labels (those of buckets
 * and quantiles left out). A name that begins with `_` has the agent's name in front, one with `*` the product's.
 */
export interface ReleaseMetric {
  readonly name: string;
  readonly type: string;
  readonly stability: string;
  /** Sorted. */
  readonly labels: readonly string[];
}

function rows(text: string): ReleaseMetric[] {
  return text
    .trim()
    .split('\n')
    .map((line) => {
      const [name = '', type = '', stability = '', ...labels] = line.split(' ');
      return { name, type, stability, labels: labels.sort() };
    });
}

const ofAll = rows(`
*_build_info gauge ALPHA build_date compiler git_commit git_tree_state git_version go_version major minor platform
process_cpu_seconds_total counter -
process_max_fds gauge -
process_open_fds gauge -
process_resident_memory_bytes gauge -
process_start_time_seconds gauge -
process_virtual_memory_bytes gauge -
process_virtual_memory_max_bytes gauge -`);

const ofClients = rows(`
rest_client_requests_total counter ALPHA code host method
rest_client_request_duration_seconds histogram ALPHA host verb
rest_client_rate_limiter_duration_seconds histogram ALPHA host verb`);

const ofLeaders = rows('leader_election_master_status gauge ALPHA name');

export const apiServerMetrics: readonly ReleaseMetric[] = [
  ...ofAll,
  ...rows(`
aggregator_unavailable_apiservice gauge ALPHA name
aggregator_unavailable_apiservice_total counter ALPHA name reason
apiserver_admission_controller_admission_duration_seconds histogram STABLE name operation rejected type
apiserver_admission_step_admission_duration_seconds histogram STABLE operation rejected type
apiserver_admission_step_admission_duration_seconds_summary summary ALPHA operation rejected type
apiserver_admission_webhook_admission_duration_seconds histogram STABLE name operation rejected type
apiserver_admission_webhook_fail_open_count counter ALPHA name type
apiserver_admission_webhook_rejection_count counter ALPHA error_type name operation rejection_code type
apiserver_admission_webhook_request_total counter ALPHA code name operation rejected type
apiserver_audit_error_total counter ALPHA plugin
apiserver_audit_event_total counter ALPHA
apiserver_audit_level_total counter ALPHA level
apiserver_audit_requests_rejected_total counter ALPHA
apiserver_cache_list_fetched_objects_total counter ALPHA index resource_prefix
apiserver_cache_list_returned_objects_total counter ALPHA resource_prefix
apiserver_cache_list_total counter ALPHA index resource_prefix
apiserver_crd_webhook_conversion_duration_seconds histogram ALPHA crd_name from_version succeeded to_version
apiserver_current_inflight_requests gauge STABLE request_kind
apiserver_current_inqueue_requests gauge ALPHA request_kind
apiserver_dropped_requests_total counter ALPHA request_kind
apiserver_egress_dialer_dial_duration_seconds histogram ALPHA protocol transport
apiserver_egress_dialer_dial_failure_count counter ALPHA protocol stage transport
apiserver_envelope_encryption_dek_cache_fill_percent gauge ALPHA
apiserver_envelope_encryption_dek_cache_inter_arrival_time_seconds histogram ALPHA transformation_type
apiserver_flowcontrol_current_executing_requests gauge ALPHA flow_schema priority_level
apiserver_flowcontrol_current_inqueue_requests gauge ALPHA flow_schema priority_level
apiserver_flowcontrol_current_r gauge ALPHA priority_level
apiserver_flowcontrol_dispatch_r gauge ALPHA priority_level
apiserver_flowcontrol_dispatched_requests_total counter ALPHA flow_schema priority_level
apiserver_flowcontrol_epoch_advance_total counter ALPHA priority_level success
apiserver_flowcontrol_latest_s gauge ALPHA priority_level
apiserver_flowcontrol_next_discounted_s_bounds gauge ALPHA bound priority_level
apiserver_flowcontrol_next_s_bounds gauge ALPHA bound priority_level
apiserver_flowcontrol_priority_level_request_count_samples histogram ALPHA phase priority_level
apiserver_flowcontrol_priority_level_request_count_watermarks histogram ALPHA mark phase priority_level
apiserver_flowcontrol_priority_level_seat_count_samples histogram ALPHA phase priority_level
apiserver_flowcontrol_priority_level_seat_count_watermarks histogram ALPHA mark phase priority_level
apiserver_flowcontrol_read_vs_write_request_count_samples histogram ALPHA phase request_kind
apiserver_flowcontrol_read_vs_write_request_count_watermarks histogram ALPHA mark phase request_kind
apiserver_flowcontrol_rejected_requests_total counter ALPHA flow_schema priority_level reason
apiserver_flowcontrol_request_concurrency_in_use gauge ALPHA flow_schema priority_level
apiserver_flowcontrol_request_concurrency_limit gauge ALPHA priority_level
apiserver_flowcontrol_request_dispatch_no_accommodation_total counter ALPHA flow_schema priority_level
apiserver_flowcontrol_request_execution_seconds histogram ALPHA flow_schema priority_level type
apiserver_flowcontrol_request_queue_length_after_enqueue histogram ALPHA flow_schema priority_level
apiserver_flowcontrol_request_wait_duration_seconds histogram ALPHA execute flow_schema priority_level
apiserver_flowcontrol_watch_count_samples histogram ALPHA flow_schema priority_level
apiserver_flowcontrol_work_estimated_seats histogram ALPHA flow_schema priority_level
apiserver_init_events_total counter ALPHA resource
apiserver_longrunning_requests gauge ALPHA component group resource scope subresource verb version
apiserver_request_aborts_total counter ALPHA group resource scope subresource verb version
apiserver_request_duration_seconds histogram STABLE component dry_run group resource scope subresource verb version
apiserver_request_filter_duration_seconds histogram ALPHA filter
apiserver_request_post_timeout_total counter ALPHA source status
apiserver_request_slo_duration_seconds histogram ALPHA component group resource scope subresource verb version
apiserver_request_terminations_total counter ALPHA code component group resource scope subresource verb version
apiserver_request_total counter STABLE code component dry_run group resource scope subresource verb version
apiserver_requested_deprecated_apis gauge STABLE group removed_release resource subresource version
apiserver_response_sizes histogram STABLE component group resource scope subresource verb version
apiserver_selfrequest_total counter ALPHA resource subresource verb
apiserver_storage_data_key_generation_duration_seconds histogram ALPHA
apiserver_storage_data_key_generation_failures_total counter ALPHA
apiserver_storage_envelope_transformation_cache_misses_total counter ALPHA
apiserver_storage_list_evaluated_objects_total counter ALPHA resource
apiserver_storage_list_fetched_objects_total counter ALPHA resource
apiserver_storage_list_returned_objects_total counter ALPHA resource
apiserver_storage_list_total counter ALPHA resource
apiserver_storage_objects gauge STABLE resource
apiserver_storage_transformation_duration_seconds histogram ALPHA transformation_type
apiserver_storage_transformation_operations_total counter ALPHA status transformation_type transformer_prefix
apiserver_terminated_watchers_total counter ALPHA resource
apiserver_tls_handshake_errors_total counter ALPHA
apiserver_watch_cache_events_dispatched_total counter ALPHA resource
apiserver_watch_cache_watch_cache_initializations_total counter ALPHA resource
apiserver_watch_events_sizes histogram ALPHA group kind version
apiserver_watch_events_total counter ALPHA group kind version
authenticated_user_requests counter ALPHA username
authentication_attempts counter ALPHA result
authentication_duration_seconds histogram ALPHA result
authentication_token_cache_active_fetch_count gauge ALPHA status
authentication_token_cache_fetch_total counter ALPHA status
authentication_token_cache_request_duration_seconds histogram ALPHA status
authentication_token_cache_request_total counter ALPHA status
etcd_bookmark_counts gauge ALPHA resource
etcd_db_total_size_in_bytes gauge ALPHA endpoint
etcd_lease_object_counts histogram ALPHA
etcd_request_duration_seconds histogram ALPHA operation type
*_apiserver_clusterip_allocator_allocated_ips gauge ALPHA cidr
*_apiserver_clusterip_allocator_allocation_errors_total counter ALPHA cidr
*_apiserver_clusterip_allocator_allocation_total counter ALPHA cidr
*_apiserver_clusterip_allocator_available_ips gauge ALPHA cidr
pod_security_errors_total counter ALPHA fatal request_operation resource subresource
pod_security_evaluations_total counter ALPHA decision mode policy_level policy_version request_operation resource subresource
pod_security_exemptions_total counter ALPHA request_operation resource subresource
serviceaccount_legacy_tokens_total counter ALPHA
watch_cache_capacity gauge ALPHA resource`),
];

export const controllerManagerMetrics: readonly ReleaseMetric[] = [
  ...ofAll,
  ...ofClients,
  ...ofLeaders,
  ...rows(`
job_controller_job_finished_total counter ALPHA completion_mode result
job_controller_job_pods_finished_total counter ALPHA completion_mode result
job_controller_job_sync_duration_seconds histogram ALPHA action completion_mode result
job_controller_job_sync_total counter ALPHA action completion_mode result
node_ipam_controller_cidrset_allocation_tries_per_request histogram ALPHA clusterCIDR
node_ipam_controller_cidrset_cidrs_allocations_total counter ALPHA clusterCIDR
node_ipam_controller_cidrset_usage_cidrs gauge ALPHA clusterCIDR
workqueue_adds_total counter ALPHA name
workqueue_depth gauge ALPHA name
workqueue_longest_running_processor_seconds gauge ALPHA name
workqueue_queue_duration_seconds histogram ALPHA name
workqueue_retries_total counter ALPHA name
workqueue_unfinished_work_seconds gauge ALPHA name
workqueue_work_duration_seconds histogram ALPHA name`),
];

export const schedulerMetrics: readonly ReleaseMetric[] = [
  ...ofAll,
  ...ofClients,
  ...ofLeaders,
  ...rows(`
scheduler_framework_extension_point_duration_seconds histogram STABLE extension_point profile status
scheduler_pending_pods gauge STABLE queue
scheduler_plugin_execution_duration_seconds histogram ALPHA extension_point plugin status
scheduler_permit_wait_duration_seconds histogram ALPHA result
scheduler_pod_scheduling_attempts histogram STABLE
scheduler_pod_scheduling_duration_seconds histogram STABLE attempts
scheduler_preemption_attempts_total counter STABLE
scheduler_preemption_victims histogram STABLE
scheduler_queue_incoming_pods_total counter STABLE event queue
scheduler_schedule_attempts_total counter STABLE profile result
scheduler_scheduler_cache_size gauge ALPHA type
scheduler_scheduler_goroutines gauge ALPHA operation
scheduler_scheduling_algorithm_duration_seconds histogram ALPHA
scheduler_scheduling_attempt_duration_seconds histogram STABLE profile result
scheduler_unschedulable_pods gauge ALPHA plugin profile
scheduler_volume_binder_cache_requests_total counter ALPHA operation
scheduler_volume_scheduling_stage_error_total counter ALPHA operation`),
];

/** Of a node without a machine: it has no drivers, device plugins and pod resources, whose metrics other tests see. */
export const nodeAgentMetrics: readonly ReleaseMetric[] = [
  ...ofAll,
  ...ofClients,
  ...rows(`
_cgroup_manager_duration_seconds histogram ALPHA operation_type
_containers_per_pod_count histogram ALPHA
_eviction_stats_age_seconds histogram ALPHA eviction_signal
_evictions counter ALPHA eviction_signal
_http_inflight_requests gauge ALPHA long_running method path server_type
_http_requests_duration_seconds histogram ALPHA long_running method path server_type
_http_requests_total counter ALPHA long_running method path server_type
_managed_ephemeral_containers gauge ALPHA
_node_name gauge ALPHA node
_pleg_last_seen_seconds gauge ALPHA
_pleg_relist_duration_seconds histogram ALPHA
_pleg_relist_interval_seconds histogram ALPHA
_pod_start_duration_seconds histogram ALPHA
_pod_worker_duration_seconds histogram ALPHA operation_type
_pod_worker_start_duration_seconds histogram ALPHA
_preemptions counter ALPHA preemption_signal
_run_podsandbox_duration_seconds histogram ALPHA runtime_handler
_run_podsandbox_errors_total counter ALPHA runtime_handler
_running_containers gauge ALPHA container_state
_running_pods gauge ALPHA
_runtime_operations_duration_seconds histogram ALPHA operation_type
_runtime_operations_errors_total counter ALPHA operation_type
_runtime_operations_total counter ALPHA operation_type
_started_containers_errors_total counter ALPHA code container_type
_started_containers_total counter ALPHA container_type
_started_pods_errors_total counter ALPHA
_started_pods_total counter ALPHA
_volume_metric_collection_duration_seconds histogram ALPHA metric_source
_volume_stats_available_bytes gauge ALPHA namespace persistentvolumeclaim
_volume_stats_capacity_bytes gauge ALPHA namespace persistentvolumeclaim
_volume_stats_health_status_abnormal gauge ALPHA namespace persistentvolumeclaim
_volume_stats_inodes gauge ALPHA namespace persistentvolumeclaim
_volume_stats_inodes_free gauge ALPHA namespace persistentvolumeclaim
_volume_stats_inodes_used gauge ALPHA namespace persistentvolumeclaim
_volume_stats_used_bytes gauge ALPHA namespace persistentvolumeclaim`),
];

/** Other metrics of the release by name prefix, and why they are missing here. None of them may appear. */
export const leftOut: Readonly<Record<string, string>> = {
  aggregator_openapi_: 'the documents of other API servers are not merged',
  apiserver_client_certificate_expiration_seconds:
    'how long a certificate still lasts is not looked at for each request',
  apiserver_kube_aggregator_: 'certificates of an outdated form are refused, not counted',
  apiserver_longrunning_gauge: 'deprecated since 1.23, and hidden in 1.24',
  apiserver_registered_watchers: 'deprecated since 1.23, and hidden in 1.24',
  apiserver_webhooks_: 'certificates of an outdated form are refused, not counted',
  field_validation_request_duration_seconds: 'fields are validated with the decoding, which is not measured apart',
  go_: 'there is no Go runtime; nodejs_ tells of the one there is',
  scheduler_e2e_scheduling_duration_seconds: 'deprecated since 1.23, and hidden in 1.24',
  _certificate_manager_: 'certificates of the node are renewed outside the node agent',
  _pleg_discard_events: 'changes of the runtime wait in no channel, so none can be dropped',
  _started_host_process_containers_: 'of another operating system',
};
