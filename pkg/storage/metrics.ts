/** The storage's metrics, one set per API server. Names and labels follow 1.24. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

export interface StorageMetrics {
  readonly requestDuration: Histogram<'operation' | 'type'>;
  readonly objects: Gauge<'resource'>;
  readonly dbTotalSize: Gauge<'endpoint'>;
  readonly cacheInits: Counter<'resource'>;
  readonly cacheEvents: Counter<'resource'>;
  readonly cacheWatchers: Gauge<'resource'>;
  readonly terminatedWatchers: Counter<'resource'>;
  readonly listTotal: Counter<'resource'>;
  readonly listReturned: Counter<'resource'>;
  readonly digestMismatches: Counter<'resource'>;
  readonly compactions: Counter<'result'>;
  readonly transformations: Counter<'transformation_type' | 'transformer_prefix' | 'status'>;
  readonly transformationDuration: Histogram<'transformation_type'>;
}

/** Creates the metrics in `registry`; call once per registry. */
export function createStorageMetrics(registry: Registry): StorageMetrics {
  const registers = [registry];
  const resource = ['resource'] as const;
  return {
    requestDuration: new Histogram({
      name: 'etcd_request_duration_seconds',
      help: 'Etcd request latency in seconds for each operation and object type.',
      labelNames: ['operation', 'type'],
      buckets: [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 15, 30, 60],
      registers,
    }),
    objects: new Gauge({
      name: 'apiserver_storage_objects',
      help: 'Number of stored objects split by kind.',
      labelNames: resource,
      registers,
    }),
    dbTotalSize: new Gauge({
      name: 'etcd_db_total_size_in_bytes',
      help: 'Total size of the etcd database file physically allocated in bytes.',
      labelNames: ['endpoint'],
      registers,
    }),
    cacheInits: new Counter({
      name: 'apiserver_init_events_total',
      help: 'Times that the watch cache of a resource was filled from the store.',
      labelNames: resource,
      registers,
    }),
    cacheEvents: new Counter({
      name: 'watch_cache_events_dispatched_total',
      help: 'Events taken into the watch cache of a resource and offered to its watchers.',
      labelNames: resource,
      registers,
    }),
    cacheWatchers: new Gauge({
      name: 'watch_cache_watchers',
      help: 'Watches served from the watch cache at this moment.',
      labelNames: resource,
      registers,
    }),
    terminatedWatchers: new Counter({
      name: 'apiserver_terminated_watchers_total',
      help: 'Watches closed because the client did not keep up.',
      labelNames: resource,
      registers,
    }),
    listTotal: new Counter({
      name: 'apiserver_cache_list_total',
      help: 'Lists served from the watch cache.',
      labelNames: resource,
      registers,
    }),
    listReturned: new Counter({
      name: 'apiserver_cache_list_returned_objects_total',
      help: 'Objects returned by lists from the watch cache.',
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
      help: 'Total number of transformations.',
      labelNames: ['transformation_type', 'transformer_prefix', 'status'],
      registers,
    }),
    transformationDuration: new Histogram({
      name: 'apiserver_storage_transformation_duration_seconds',
      help: 'Latencies in seconds of value transformation operations.',
      labelNames: ['transformation_type'],
      // From 5 µs to 41 ms, each twice the one before.
      buckets: Array.from({ length: 14 }, (_, i) => 5e-6 * 2 ** i),
      registers,
    }),
  };
}
