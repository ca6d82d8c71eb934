/**
 * Keeps the bytes of cache entries: in one piece while an entry is warm, which is when it was written, told to watchers or
 * read lately; made of what others have too when it is not. Shared by the caches of a server.
 */

import { sameItems } from '#apimachinery/equality.js';
import type { StoredParts } from '#storage/layout.js';
import { CompressedBytes } from '#storage/segments/compressed-bytes.js';
import type { SharedBytes } from '#storage/segments/shared-bytes.js';
import { Templates } from '#storage/segments/templates.js';

const slots = 1024;

/**
 * One and the same description for objects that have their parts at the same places, as most of one template do: each
 * object that was written keeps one. Bounded; what is not known any more is kept anew.
 */
export class RecentParts {
  readonly #slots: (StoredParts | undefined)[] = Array.from({ length: slots });

  /** An equal one to keep. */
  of({ ranges, length }: StoredParts): StoredParts {
    let hash = length;
    for (const place of ranges) hash = (Math.imul(hash, 31) + place) | 0;
    const slot = (hash ^ (hash >>> 8) ^ (hash >>> 16)) & (slots - 1);
    const known = this.#slots[slot];
    if (known?.length === length && sameItems(known.ranges, ranges)) return known;
    // A copy has no room for more behind it, unlike an array that has grown.
    const kept = { ranges: ranges.slice(), length };
    this.#slots[slot] = kept;
    return kept;
  }
}

/** Something whose bytes are in one piece for now. */
export interface Warm {
  readonly size: number;
  /** Called once for each time that it was made warm. */
  cool(): void;
}

/** Something large that is not used at the moment. */
export interface Compressible {
  readonly size: number;
  /** Undefined when its bytes are not its own any more. */
  uncompressed(): Buffer | undefined;
  /** Undefined: they do not shrink enough. */
  compressed(bytes: CompressedBytes | undefined): void;
}

export interface ByteKeeperOptions {
  /** Bytes of the warm ones, at most; the newest stays whatever its size. */
  readonly maxWarmBytes?: number;
  readonly maxTemplateBytes?: number;
  /** Large ones that have little in common with others are compressed: where their bytes are this thread's own. */
  readonly compresses?: boolean;
}

/** About as much as is made between two collections of young garbage: what goes sooner is never copied by them. */
const defaultWarmBytes = 512 * 1024;
const defaultTemplateBytes = 32 * 1024 * 1024;

export class ByteKeeper {
  /** What is known of where entries have their parts. */
  readonly parts = new RecentParts();
  readonly #maxWarmBytes: number;
  readonly #templates: Templates;
  readonly #compresses: boolean;
  /** In the order in which they became warm; those before the head have cooled. */
  #warm: (Warm | undefined)[] = [];
  #head = 0;
  /** To be compressed. */
  readonly #large = new Set<Compressible>();
  #compressing: Promise<void> | undefined;
  #warmBytes = 0;

  constructor(options: ByteKeeperOptions = {}) {
    const { maxWarmBytes = defaultWarmBytes, maxTemplateBytes = defaultTemplateBytes, compresses = false } = options;
    this.#compresses = compresses;
    this.#maxWarmBytes = maxWarmBytes;
    this.#templates = new Templates({ maxBytes: maxTemplateBytes });
  }

  /** Lets it be warm until enough others are. */
  warmed(entry: Warm): void {
    this.#warm.push(entry);
    this.#warmBytes += entry.size;
    while (this.#warmBytes > this.#maxWarmBytes && this.#head < this.#warm.length - 1) this.#coolOldest();
  }

  /** See `Templates.match`. */
  match(key: string, form: string, bytes: Buffer): SharedBytes | undefined {
    return this.#templates.match(key, form, bytes);
  }

  /** See `Templates.share`. */
  share(key: string, form: string, bytes: Buffer, keep?: () => Buffer): SharedBytes | undefined {
    return this.#templates.share(key, form, bytes, keep);
  }

  /** Whether something of that size is compressed when it has little in common with others. */
  compresses(size: number): boolean {
    return this.#compresses && CompressedBytes.concerns(size);
  }

  /** It will be compressed, and stays as it is until then. */
  compress(entry: Compressible): void {
    this.#large.add(entry);
    this.#compressing ??= this.#compressAll();
  }

  /** One after the other, so that other threads have cores left. */
  async #compressAll(): Promise<void> {
    for (const entry of this.#large) {
      this.#large.delete(entry);
      const bytes = entry.uncompressed();
      // Without the memory for it, or what else it fails for, it stays as it is.
      if (bytes !== undefined) entry.compressed(await CompressedBytes.of(bytes).catch(() => undefined));
    }
    this.#compressing = undefined;
  }

  #coolOldest(): void {
    const oldest = this.#warm[this.#head] as Warm;
    this.#warm[this.#head] = undefined;
    this.#head++;
    if (this.#head > 64 && this.#head * 2 > this.#warm.length) {
      this.#warm = this.#warm.slice(this.#head);
      this.#head = 0;
    }
    this.#warmBytes -= oldest.size;
    oldest.cool();
  }
}
