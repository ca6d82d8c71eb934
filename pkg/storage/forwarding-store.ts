/** A store that hands everything to the one below: what stands between a cache and the store overrides what it changes. */
import type { Cancellation } from '#apimachinery/cancellation.js';
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
