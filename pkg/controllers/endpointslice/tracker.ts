/** Remembers what was written last, so that a cache which does not show it yet is not acted upon. */
import type { EndpointSlice } from '#api/discovery/v1/types.gen.js';
import type { Clock } from '#apimachinery/clock.js';
import { expectationsTimeoutMs } from '#controllers/framework/expectations.js';

interface Written {
  readonly generation: number | 'deleted';
  readonly atMs: number;
}

export class SliceTracker {
  readonly #clock: Clock;
  /** Service → UID of a slice → what was written last. */
  readonly #written = new Map<string, Map<string, Written>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wrote(service: string, slice: EndpointSlice): void {
    this.#set(service, slice, slice.metadata.generation ?? 0);
  }

  deleted(service: string, slice: EndpointSlice): void {
    this.#set(service, slice, 'deleted');
  }

  /** The cache told that the slice is gone. */
  sawDeletion(service: string, slice: EndpointSlice): void {
    const written = this.#written.get(service);
    written?.delete(slice.metadata.uid ?? '');
    if (written?.size === 0) this.#written.delete(service);
  }

  forget(service: string): void {
    this.#written.delete(service);
  }

  /**
   * Zero when the cached slices show what was written; else the milliseconds until that is no longer waited for (a
   * slice may have been created and deleted between two lists).
   */
  staleMs(service: string, slices: readonly EndpointSlice[]): number {
    const cached = new Map(slices.map((slice) => [slice.metadata.uid ?? '', slice.metadata.generation ?? 0]));
    let longest = 0;
    for (const [uid, { generation, atMs }] of this.#written.get(service) ?? []) {
      const seen = cached.get(uid);
      const stale = generation === 'deleted' ? seen !== undefined : seen === undefined || seen < generation;
      if (stale) longest = Math.max(longest, atMs + expectationsTimeoutMs - this.#clock.monotonic());
    }
    return longest;
  }

  #set(service: string, slice: EndpointSlice, generation: Written['generation']): void {
    let written = this.#written.get(service);
    if (written === undefined) {
      written = new Map();
      this.#written.set(service, written);
    }
    written.set(slice.metadata.uid ?? '', { generation, atMs: this.#clock.monotonic() });
  }
}
