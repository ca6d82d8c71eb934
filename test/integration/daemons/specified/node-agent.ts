/** Types of the node agent's options that are not strings, by type; names and defaults stand beside its table. */
export const nodeAgentTypes: Readonly<Record<string, string>> = {
  bool: `register-node register-schedulable exit-on-lock-contention experimental-allocatable-ignore-eviction
    keep-terminated-pod-volumes seccomp-default enable-server enable-debugging-handlers anonymous-auth
    authentication-token-webhook rotate-certificates rotate-server-certificates cgroups-per-qos cpu-cfs-quota
    kernel-memcg-notification experimental-kernel-memcg-notification enable-controller-attach-detach
    serialize-image-pulls protect-kernel-defaults fail-swap-on make-iptables-util-chains runonce log-json-split-stream
    add-dir-header alsologtostderr logtostderr one-output skip-headers skip-log-headers`,
  int: `port read-only-port healthz-port eviction-max-pod-grace-period max-pods pods-per-core pod-max-pids
    node-status-max-images image-gc-high-threshold image-gc-low-threshold registry-burst max-open-files oom-score-adj
    iptables-drop-bit iptables-masquerade-bit container-log-max-files event-burst orch-api-burst maximum-dead-containers
    maximum-dead-containers-per-container log-file-max-size stderrthreshold v`,
  duration: `runtime-request-timeout authentication-token-webhook-cache-ttl authorization-webhook-cache-authorized-ttl
    authorization-webhook-cache-unauthorized-ttl streaming-connection-idle-timeout cpu-cfs-quota-period
    cpu-manager-reconcile-period eviction-pressure-transition-period file-check-frequency http-check-frequency
    sync-frequency node-status-update-frequency minimum-image-ttl-duration volume-stats-agg-period
    minimum-container-ttl-duration log-flush-frequency`,
};
