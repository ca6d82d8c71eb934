/**
 * Encodings of entries that are much larger than what is stored. Entries keep small encodings as long as they live; large
 * ones would multiply the memory of a cache, so only the most recent ones stay.
 */
import type { Entry } from '#storage/resource-storage.js';

/** Limit of bytes that stay without a holder. */
const maxBytes = 16 * 1024 * 1024;
/** An encoding of this many bytes more than twice the stored size is large. */
const slackBytes = 4096;

/** Bytes that the entry's views return as long as a reference to this object exists. */
export interface LargeView {
  readonly bytes: Buffer;
}

/** One per server. */
export class LargeViews {
  readonly #views = new WeakMap<Entry, Map<string, WeakRef<LargeView>>>();
  /** Oldest first. */
  readonly #recent = new Set<LargeView>();
  #bytes = 0;

  /** Bytes that stay without a holder. */
  get bytes(): number {
    return this.#bytes;
  }

  /** True if the entry has the encoding of that name, small or large. */
  has(entry: Entry, name: string): boolean {
    return entry.keeps(name) || this.find(entry, name) !== undefined;
  }

  find(entry: Entry, name: string): LargeView | undefined {
    return this.#views.get(entry)?.get(name)?.deref();
  }

  /** The bytes of that name, made and kept if they are absent. */
  encoded(entry: Entry, name: string, make: (entry: Entry) => Buffer): Buffer {
    if (entry.keeps(name)) return entry.encoded(name, make);
    const large = this.find(entry, name);
    if (large !== undefined) return large.bytes;
    const bytes = make(entry);
    this.keep(entry, name, bytes);
    return bytes;
  }

  /** Keeps the bytes with the entry if they are small; otherwise returns what must be held until they are read. */
  keep(entry: Entry, name: string, bytes: Buffer): LargeView | undefined {
    if (bytes.length <= 2 * entry.size + slackBytes) {
      entry.encodedBytes(name, () => bytes);
      return undefined;
    }
    const view = { bytes };
    const views = this.#views.get(entry) ?? new Map<string, WeakRef<LargeView>>();
    this.#views.set(entry, views.set(name, new WeakRef(view)));
    this.#recent.add(view);
    this.#bytes += bytes.length;
    for (const oldest of this.#recent) {
      if (this.#bytes <= maxBytes || oldest === view) break;
      this.#recent.delete(oldest);
      this.#bytes -= oldest.bytes.length;
    }
    return view;
  }
}
