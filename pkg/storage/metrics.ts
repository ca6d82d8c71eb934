/** Storage metrics, one set per API server, with 1.24's names and labels. */
import { Counter, exponentialBuckets, Gauge, Histogram, type Registry } from 'prom-client';
import { PlainCounter, PlainHistogram } from '#daemon/metrics/plain-series.js';

export interface StorageMetrics {
  readonly requestDuration: PlainHistogram;
  readonly objects: Gauge<'resource'>;
  readonly dbTotalSize: Gauge<'endpoint'>;
  readonly bookmarks: Gauge<'resource'>;
  readonly leaseObjects: Histogram;
  readonly cacheCapacity: Gauge<'resource'>;
  readonly cacheInits: Counter<'resource'>;
  readonly initEvents: Counter<'resource'>;
  readonly cacheEvents: PlainCounter;
  readonly cacheWatchers: Gauge<'resource'>;
  readonly terminatedWatchers: Counter<'resource'>;
  readonly cacheLists: Counter<'resource_prefix' | 'index'>;
  readonly cacheListFetched: Counter<'resource_prefix' | 'index'>;
  readonly cacheListReturned: Counter<'resource_prefix'>;
  readonly storeLists: Counter<'resource'>;
  readonly storeListFetched: Counter<'resource'>;
  readonly storeListEvaluated: Counter<'resource'>;
  readonly storeListReturned: Counter<'resource'>;
  readonly digestMismatches: Counter<'resource'>;
  readonly compactions: Counter<'result'>;
  readonly transformations: Counter<'transformation_type' | 'transformer_prefix' | 'status'>;
  readonly transformationDuration: Histogram<'transformation_type'>;
  readonly dataKeyMisses: Counter;
  readonly dataKeyDuration: Histogram;
  readonly dataKeyFailures: Counter;
  readonly dataKeyCacheFill: Gauge;
  readonly dataKeyArrivals: Histogram<'transformation_type'>;
}

/** Creates the metrics; call it once per registry. */
export function createStorageMetrics(registry: Registry): StorageMetrics {
  const registers = [registry];
  const resource = ['resource'] as const;
  return {
    requestDuration: new PlainHistogram(registry, {
      name: 'etcd_request_duration_seconds',
      help: '[ALPHA] Etcd request latency in seconds for each operation and object type.',
      labelNames: ['operation', 'type'],
      buckets: [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 15, 30, 60],
    }),
    objects: new Gauge({
      name: 'apiserver_storage_objects',
      help: '[STABLE] Number of stored objects split by kind.',
      labelNames: resource,
      registers,
    }),
    dbTotalSize: new Gauge({
      name: 'etcd_db_total_size_in_bytes',
      help: '[ALPHA] Total size of the etcd database file physically allocated in bytes.',
      labelNames: ['endpoint'],
      registers,
    }),
    bookmarks: new Gauge({
      name: 'etcd_bookmark_counts',
      help: '[ALPHA] Number of etcd bookmarks (progress notify events) split by kind.',
      labelNames: resource,
      registers,
    }),
    leaseObjects: new Histogram({
      name: 'etcd_lease_object_counts',
      help: '[ALPHA] Number of objects attached to a single etcd lease.',
      buckets: [10, 50, 100, 500, 1000, 2500, 5000],
      registers,
    }),
    cacheCapacity: new Gauge({
      name: 'watch_cache_capacity',
      help: '[ALPHA] Total capacity of watch cache broken by resource type.',
      labelNames: resource,
      registers,
    }),
    cacheInits: new Counter({
      name: 'apiserver_watch_cache_watch_cache_initializations_total',
      help: '[ALPHA] Counter of watch cache initializations broken by resource type.',
      labelNames: resource,
      registers,
    }),
    initEvents: new Counter({
      name: 'apiserver_init_events_total',
      help: '[ALPHA] Counter of init events processed in watch cache broken by resource type.',
      labelNames: resource,
      registers,
    }),
    cacheEvents: new PlainCounter(registry, {
      name: 'apiserver_watch_cache_events_dispatched_total',
      help: '[ALPHA] Counter of events dispatched in watch cache broken by resource type.',
      labelNames: resource,
    }),
    cacheWatchers: new Gauge({
      name: 'watch_cache_watchers',
      help: 'Watches served from the watch cache at this moment.',
      labelNames: resource,
      registers,
    }),
    terminatedWatchers: new Counter({
      name: 'apiserver_terminated_watchers_total',
      help: '[ALPHA] Counter of watchers closed due to unresponsiveness broken by resource type.',
      labelNames: resource,
      registers,
    }),
    cacheLists: new Counter({
      name: 'apiserver_cache_list_total',
      help: '[ALPHA] Number of LIST requests served from watch cache.',
      labelNames: ['resource_prefix', 'index'],
      registers,
    }),
    cacheListFetched: new Counter({
      name: 'apiserver_cache_list_fetched_objects_total',
      help: '[ALPHA] Number of objects read from watch cache in the course of serving a LIST request.',
      labelNames: ['resource_prefix', 'index'],
      registers,
    }),
    cacheListReturned: new Counter({
      name: 'apiserver_cache_list_returned_objects_total',
      help: '[ALPHA] Number of objects returned for a LIST request from watch cache.',
      labelNames: ['resource_prefix'],
      registers,
    }),
    storeLists: new Counter({
      name: 'apiserver_storage_list_total',
      help: '[ALPHA] Number of LIST requests served from storage.',
      labelNames: resource,
      registers,
    }),
    storeListFetched: new Counter({
      name: 'apiserver_storage_list_fetched_objects_total',
      help: '[ALPHA] Number of objects read from storage in the course of serving a LIST request.',
      labelNames: resource,
      registers,
    }),
    storeListEvaluated: new Counter({
      name: 'apiserver_storage_list_evaluated_objects_total',
      help: '[ALPHA] Number of objects tested in the course of serving a LIST request from storage.',
      labelNames: resource,
      registers,
    }),
    storeListReturned: new Counter({
      name: 'apiserver_storage_list_returned_objects_total',
      help: '[ALPHA] Number of objects returned for a LIST request from storage.',
      labelNames: resource,
      registers,
    }),
    digestMismatches: new Counter({
      name: 'watch_cache_digest_mismatches_total',
      help: 'Self-checks that found the watch cache different from the store at the same revision.',
      labelNames: resource,
      registers,
    }),
    compactions: new Counter({
      name: 'etcd_compaction_attempts_total',
      help: 'Attempts of this server to compact the history of the store.',
      labelNames: ['result'],
      registers,
    }),
    transformations: new Counter({
      name: 'apiserver_storage_transformation_operations_total',
      help: '[ALPHA] Total number of transformations.',
      labelNames: ['transformation_type', 'transformer_prefix', 'status'],
      registers,
    }),
    transformationDuration: new Histogram({
      name: 'apiserver_storage_transformation_duration_seconds',
      help: '[ALPHA] Latencies in seconds of value transformation operations.',
      labelNames: ['transformation_type'],
      // A key management service may take much longer than a cipher.
      buckets: exponentialBuckets(5e-6, 2, 25),
      registers,
    }),
    dataKeyMisses: new Counter({
      name: 'apiserver_storage_envelope_transformation_cache_misses_total',
      help: '[ALPHA] Total number of cache misses while accessing key decryption key(KEK).',
      registers,
    }),
    dataKeyDuration: new Histogram({
      name: 'apiserver_storage_data_key_generation_duration_seconds',
      help: '[ALPHA] Latencies in seconds of data encryption key(DEK) generation operations.',
      buckets: exponentialBuckets(5e-6, 2, 14),
      registers,
    }),
    dataKeyFailures: new Counter({
      name: 'apiserver_storage_data_key_generation_failures_total',
      help: '[ALPHA] Total number of failed data encryption key(DEK) generation operations.',
      registers,
    }),
    dataKeyCacheFill: new Gauge({
      name: 'apiserver_envelope_encryption_dek_cache_fill_percent',
      help: '[ALPHA] Percent of the cache slots currently occupied by cached DEKs.',
      registers,
    }),
    dataKeyArrivals: new Histogram({
      name: 'apiserver_envelope_encryption_dek_cache_inter_arrival_time_seconds',
      help: '[ALPHA] Time (in seconds) of inter arrival of transformation requests.',
      labelNames: ['transformation_type'],
      buckets: exponentialBuckets(60, 2, 10),
      registers,
    }),
  };
}

/** Drops the series of a removed resource; `prefix` is the label of its lists. */
export function forgetResource(metrics: StorageMetrics, resource: string, prefix: string): void {
  metrics.requestDuration.forget({ type: resource });
  metrics.cacheEvents.forget({ resource });
  const { objects, bookmarks, cacheCapacity, cacheInits, initEvents, cacheWatchers, terminatedWatchers } = metrics;
  const { storeLists, storeListFetched, storeListEvaluated, storeListReturned, digestMismatches } = metrics;
  for (const gauge of [objects, bookmarks, cacheCapacity, cacheWatchers]) gauge.remove({ resource });
  for (const counter of [cacheInits, initEvents, terminatedWatchers, digestMismatches]) counter.remove({ resource });
  for (const counter of [storeLists, storeListFetched, storeListEvaluated, storeListReturned]) {
    counter.remove({ resource });
  }
  for (const counter of [metrics.cacheLists, metrics.cacheListFetched]) {
    counter.remove({ resource_prefix: prefix, index: '' });
  }
  metrics.cacheListReturned.remove({ resource_prefix: prefix });
}
