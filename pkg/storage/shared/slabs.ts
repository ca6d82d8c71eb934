/**
 * Shared memory for the bytes of one resource's entries.
 *
 * A slab is filled from its beginning and never written twice, so that whoever has a view of it can read it without locks
 * for as long as it likes, a half-written answer to a slow client included. Its memory is given back by the garbage
 * collectors: when no thread has a view of it any more. What keeps that from being late or never:
 *
 * - A slab with less than half of its bytes in use is emptied: what is in use is copied to the newest slab. Each byte that
 *   is copied stands for one that has been given up, so this costs no more than writing does.
 * - Slabs are one resource's alone, so that the history of a resource that changes seldom does not keep the bytes of one
 *   that changes often.
 * - Each thread's collector is told of the memory by a `Weights`: of shared memory it knows nothing by itself.
 */
import type { CacheEntry } from '#storage/cache/cache-entry.js';

/** Bytes of a slab of a resource that has more than that. */
const slabBytes = 256 * 1024;
const smallestSlabBytes = 16 * 1024;

export interface Slab {
  readonly id: number;
  readonly memory: SharedArrayBuffer;
  /** Bytes that are written. */
  used: number;
  /** Entries of the present state, and their bytes. */
  readonly live: Set<CacheEntry>;
  liveBytes: number;
  /** Nothing of the present state is in it, nor will be. */
  retired: boolean;
}

export interface SlabArenaOptions {
  /** Numbers of slabs, each once. */
  readonly nextId: () => number;
  readonly weights: Weights;
  /** An entry's bytes were copied to another slab. */
  readonly moved: (entry: CacheEntry) => void;
  readonly retired: (slab: Slab) => void;
}

export class SlabArena {
  readonly #options: SlabArenaOptions;
  /** The one that is being filled. */
  #newest: Slab | undefined;
  /** By its memory, as long as anybody has a view of it. */
  readonly #slabs = new WeakMap<ArrayBufferLike, Slab>();
  /** Of the present state. */
  #liveBytes = 0;
  #slabBytes = 0;

  constructor(options: SlabArenaOptions) {
    this.#options = options;
  }

  /** Bytes of the present state, and of all slabs that have any of it. */
  get size(): { readonly live: number; readonly slabs: number } {
    return { live: this.#liveBytes, slabs: this.#slabBytes };
  }

  /** Where the entry's bytes are; they are copied in when they are in no slab yet. */
  locate(entry: CacheEntry): { readonly slab: Slab; readonly offset: number; readonly length: number } {
    if (!this.#slabs.has(entry.bytes.buffer)) this.#copy(entry);
    const { buffer, byteOffset: offset, length } = entry.bytes;
    return { slab: this.#slabs.get(buffer) as Slab, offset, length };
  }

  /** The entry is of the present state from now on. */
  hold(entry: CacheEntry): void {
    let { slab } = this.locate(entry);
    if (slab.live.has(entry)) return;
    // What was of the state before, and comes back to it.
    if (slab.retired) slab = this.#copy(entry);
    const { length } = entry.bytes;
    slab.live.add(entry);
    slab.liveBytes += length;
    this.#liveBytes += length;
  }

  /** The entry is not of the present state any more. */
  drop(entry: CacheEntry): void {
    const slab = this.#slabs.get(entry.bytes.buffer);
    if (slab === undefined || !slab.live.delete(entry)) return;
    const { length } = entry.bytes;
    slab.liveBytes -= length;
    this.#liveBytes -= length;
    this.#tidy(slab);
  }

  /** Empties a slab that is hardly used. */
  #tidy(slab: Slab): void {
    if (slab.retired || slab === this.#newest || slab.liveBytes * 2 >= slab.memory.byteLength) return;
    slab.retired = true;
    this.#slabBytes -= slab.memory.byteLength;
    for (const entry of slab.live) {
      this.#liveBytes -= entry.bytes.length;
      this.#copy(entry);
      this.hold(entry);
      this.#options.moved(entry);
    }
    slab.live.clear();
    this.#options.retired(slab);
  }

  #copy(entry: CacheEntry): Slab {
    const { bytes } = entry;
    const slab = this.#roomFor(bytes.length);
    const copy = Buffer.from(slab.memory, slab.used, bytes.length);
    bytes.copy(copy);
    slab.used += bytes.length;
    entry.rebind(copy);
    return slab;
  }

  #roomFor(bytes: number): Slab {
    const newest = this.#newest;
    if (newest !== undefined && newest.used + bytes <= newest.memory.byteLength) return newest;
    const usual = Math.min(slabBytes, Math.max(smallestSlabBytes, this.#liveBytes));
    // A large one gets a slab of its own, which goes with it; the one that is being filled still has room for others.
    if (bytes > usual / 4) return this.#add(bytes);
    const slab = this.#add(usual);
    this.#newest = slab;
    if (newest === undefined) return slab;
    this.#tidy(newest);
    // What was left of the one before may have filled it.
    return this.#roomFor(bytes);
  }

  #add(bytes: number): Slab {
    const memory = new SharedArrayBuffer(bytes);
    this.#options.weights.add(memory);
    const slab = {
      id: this.#options.nextId(),
      memory,
      used: 0,
      live: new Set<CacheEntry>(),
      liveBytes: 0,
      retired: false,
    };
    this.#slabs.set(memory, slab);
    this.#slabBytes += bytes;
    return slab;
  }
}

/**
 * Lets a thread's garbage collector feel the shared memory that it could free: V8 counts none of it, and a thread that
 * makes little garbage of its own would hold on to slabs for ever. Each gets a companion of the same size that V8 does
 * count; it is never written to, so that the system gives no memory for it.
 */
export class Weights {
  readonly #companions = new WeakMap<SharedArrayBuffer, ArrayBufferLike>();

  add(memory: SharedArrayBuffer): void {
    this.#companions.set(memory, Buffer.allocUnsafeSlow(memory.byteLength).buffer);
  }
}
