/** Forwards every call to another store; subclasses override what they change. */
import type { Cancellation } from '#apimachinery/cancellation.js';
import type { Clock } from '#apimachinery/clock.js';
import type { StorageMetrics } from '#storage/metrics.js';
import type {
  DeleteOptions,
  RangeOptions,
  RangeResult,
  Revision,
  Store,
  WatchMessage,
  WatchOptions,
  WriteOptions,
  WriteResult,
} from '#storage/store.js';

export abstract class ForwardingStore implements Store {
  protected readonly below: Store;

  constructor(below: Store) {
    this.below = below;
  }

  range(options: RangeOptions): Promise<RangeResult> {
    return this.below.range(options);
  }

  create(key: string, value: Buffer, options?: WriteOptions): Promise<WriteResult> {
    return this.below.create(key, value, options);
  }

  update(key: string, value: Buffer, expected: Revision, options?: WriteOptions): Promise<WriteResult> {
    return this.below.update(key, value, expected, options);
  }

  delete(key: string, expected: Revision, options?: DeleteOptions): Promise<WriteResult> {
    return this.below.delete(key, expected, options);
  }

  watch(options: WatchOptions): AsyncIterable<WatchMessage> {
    return this.below.watch(options);
  }

  requestProgress(start?: string): void {
    this.below.requestProgress(start);
  }

  currentRevision(signal?: Cancellation): Promise<Revision> {
    return this.below.currentRevision(signal);
  }

  compact(revision: Revision): Promise<void> {
    return this.below.compact(revision);
  }

  health(signal?: AbortSignal): Promise<void> {
    return this.below.health(signal);
  }

  sizes(signal?: AbortSignal): Promise<ReadonlyMap<string, number>> {
    return this.below.sizes(signal);
  }

  close(): Promise<void> {
    return this.below.close();
  }
}

export interface MeasuredStoreOptions {
  /** `pods`, `deployments.apps`. */
  readonly resource: string;
  readonly clock: Clock;
  readonly metrics: StorageMetrics;
}

type Observer = ReturnType<StorageMetrics['requestDuration']['labels']>;

export class MeasuredStore extends ForwardingStore {
  readonly #options: MeasuredStoreOptions;
  /** Observers by operation. */
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
    const existing = this.#durations.get(operation);
    if (existing !== undefined) return existing;
    const { metrics, resource } = this.#options;
    const duration = metrics.requestDuration.labels(operation, resource);
    this.#durations.set(operation, duration);
    return duration;
  }
}
