/** Metrics of the proxy, with release 1.24's names. */
import type { Registry } from 'prom-client';
import type { Dialect } from '#apimachinery/dialect.js';
import { counter, exponentialBuckets, gauge, histogram } from '#daemon/metrics/metric.js';

export class ProxyMetrics {
  readonly syncSeconds;
  readonly lastSync;
  readonly lastQueued;
  readonly failures;
  readonly endpointChanges;
  readonly endpointChangesPending;
  readonly serviceChanges;
  readonly serviceChangesPending;
  readonly fullSyncs;

  constructor(registry: Registry, dialect: Dialect) {
    const prefix = `${dialect.proxyMetricsPrefix}_sync_proxy_rules`;
    this.syncSeconds = histogram(registry, {
      name: `${prefix}_duration_seconds`,
      help: 'SyncProxyRules latency in seconds',
      buckets: exponentialBuckets(0.001, 2, 15),
    });
    this.lastSync = gauge(registry, {
      name: `${prefix}_last_timestamp_seconds`,
      help: 'The last time proxy rules were successfully synced',
    });
    this.lastQueued = gauge(registry, {
      name: `${prefix}_last_queued_timestamp_seconds`,
      help: 'The last time a sync of proxy rules was queued',
    });
    this.failures = counter(registry, {
      name: `${prefix}_nftables_sync_failures_total`,
      help: 'Cumulative proxy nftables sync failures',
    });
    this.fullSyncs = counter(registry, {
      name: `${prefix}_nftables_full_syncs_total`,
      help: 'Times that the kernel’s tables were read and compared',
    });
    this.endpointChanges = counter(registry, {
      name: `${prefix}_endpoint_changes_total`,
      help: 'Cumulative proxy rules Endpoint changes',
    });
    this.endpointChangesPending = gauge(registry, {
      name: `${prefix}_endpoint_changes_pending`,
      help: 'Pending proxy rules Endpoint changes',
    });
    this.serviceChanges = counter(registry, {
      name: `${prefix}_service_changes_total`,
      help: 'Cumulative proxy rules Service changes',
    });
    this.serviceChangesPending = gauge(registry, {
      name: `${prefix}_service_changes_pending`,
      help: 'Pending proxy rules Service changes',
    });
  }
}
