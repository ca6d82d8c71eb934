/** Metrics of storage operations and of calls to drivers, named as in 1.24. */
import type { Registry } from 'prom-client';
import type { Clock } from '#apimachinery/clock.js';
import { PlainHistogram } from '#daemon/metrics/plain-series.js';

const buckets = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600];

export class StorageMetrics {
  readonly #clock: Clock;
  readonly #operations: PlainHistogram;
  readonly #calls: PlainHistogram;

  constructor(registry: Registry, clock: Clock) {
    this.#clock = clock;
    this.#operations = new PlainHistogram(registry, {
      name: 'storage_operation_duration_seconds',
      help: '[ALPHA] Storage operation duration',
      labelNames: ['volume_plugin', 'operation_name', 'status', 'migrated'],
      buckets,
    });
    this.#calls = new PlainHistogram(registry, {
      name: 'csi_operations_seconds',
      help: '[ALPHA] Container Storage Interface operation duration with gRPC error code status total',
      labelNames: ['driver_name', 'method_name', 'grpc_status_code', 'migrated'],
      buckets,
    });
  }

  /** Settles like the operation. `plugin`: with the driver's name, such as `orch.io/csi:driver`. */
  async measure<T>(plugin: string, operation: string, run: () => Promise<T>): Promise<T> {
    const began = this.#clock.monotonic();
    const observe = (status: string) =>
      this.#operations.labels(plugin, operation, status, 'false').observe((this.#clock.monotonic() - began) / 1000);
    try {
      const result = await run();
      observe('success');
      return result;
    } catch (error) {
      observe('fail-unknown');
      throw error;
    }
  }

  /** A call of a driver. `code`: name of the gRPC status. */
  called(driver: string, method: string, ms: number, code: string): void {
    this.#calls.labels(driver, method, code, 'false').observe(ms / 1000);
  }
}
