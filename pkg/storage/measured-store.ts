/** Measures the requests of one resource to the store, under the operations' names of 1.24. */
import type { Clock } from '#apimachinery/clock.js';
import { ForwardingStore } from '#storage/forwarding-store.js';
import type { StorageMetrics } from '#storage/metrics.js';
import type {
  DeleteOptions,
  RangeOptions,
  RangeResult,
  Revision,
  Store,
  WriteOptions,
  WriteResult,
} from '#storage/store.js';

export interface MeasuredStoreOptions {
  /** `pods`, `deployments.apps`. */
  readonly resource: string;
  readonly clock: Clock;
  readonly metrics: StorageMetrics;
}

type Observer = ReturnType<StorageMetrics['requestDuration']['labels']>;

export class MeasuredStore extends ForwardingStore {
  readonly #options: MeasuredStoreOptions;
  /** By operation, of those that there have been. */
  readonly #durations = new Map<string, Observer>();

  constructor(below: Store, options: MeasuredStoreOptions) {
    super(below);
    this.#options = options;
  }

  override range(options: RangeOptions): Promise<RangeResult> {
    const single = options.end === `${options.start}\0`;
    return this.#timed(single ? 'get' : 'list', () => this.below.range(options));
  }

  override create(key: string, value: Buffer, options?: WriteOptions): Promise<WriteResult> {
    return this.#timed('create', () => this.below.create(key, value, options));
  }

  override update(key: string, value: Buffer, expected: Revision, options?: WriteOptions): Promise<WriteResult> {
    return this.#timed('update', () => this.below.update(key, value, expected, options));
  }

  override delete(key: string, expected: Revision, options?: DeleteOptions): Promise<WriteResult> {
    return this.#timed('delete', () => this.below.delete(key, expected, options));
  }

  async #timed<T>(operation: string, call: () => Promise<T>): Promise<T> {
    const { clock } = this.#options;
    const startedMs = clock.monotonic();
    try {
      return await call();
    } finally {
      this.#duration(operation).observe((clock.monotonic() - startedMs) / 1000);
    }
  }

  #duration(operation: string): Observer {
    const known = this.#durations.get(operation);
    if (known !== undefined) return known;
    const { metrics, resource } = this.#options;
    const made = metrics.requestDuration.labels(operation, resource);
    this.#durations.set(operation, made);
    return made;
  }
}
