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
 *
 * What entries have in common with others is in slabs of its own, one for each template, and entries have their own bytes in
 * theirs. A template's memory goes when no thread has an entry with parts of it.
 */
import { copyMemory } from '#apimachinery/copy-memory.js';
import type { CacheEntry } from '#storage/cache/cache-entry.js';
import { isWhole } from '#storage/segments/segmented.js';
import type { SharedBytes } from '#storage/segments/shared-bytes.js';
import type { Template } from '#storage/segments/template.js';
import type { Place } from '#storage/shared/messages.js';
import { PlacedBytes, TemplateWriter } from '#storage/shared/placed-bytes.js';

/** Bytes of a slab of a resource that has more than that. */
const slabBytes = 256 * 1024;
const smallestSlabBytes = 16 * 1024;

/** Shared memory as readers know it. */
export interface Slab {
  readonly id: number;
  readonly memory: SharedArrayBuffer;
  /** Something of the present state is in it. */
  readonly inUse: boolean;
}

/** Entries, or what they have of their own. */
class EntrySlab implements Slab {
  readonly id: number;
  readonly memory: SharedArrayBuffer;
  readonly bytes: Buffer;
  /** Bytes that are written. */
  used = 0;
  /** Entries of the present state, and their bytes here. */
  readonly live = new Set<CacheEntry>();
  liveBytes = 0;
  /** Nothing of the present state is in it, nor will be. */
  retired = false;

  constructor(id: number, memory: SharedArrayBuffer) {
    this.id = id;
    this.memory = memory;
    this.bytes = Buffer.from(memory);
  }

  get inUse(): boolean {
    return this.live.size > 0;
  }
}

/** A template that entries have parts of. */
class TemplateSlab implements Slab {
  readonly id: number;
  readonly memory: SharedArrayBuffer;
  readonly writer: TemplateWriter;
  /** Entries of the present state that it has parts of. */
  users = 0;

  constructor(id: number, writer: TemplateWriter) {
    this.id = id;
    this.memory = writer.placed.memory;
    this.writer = writer;
  }

  get inUse(): boolean {
    return this.users > 0;
  }
}

/** Where what an entry keeps is. */
export interface Located {
  readonly place: Place;
  readonly slabs: readonly Slab[];
}

interface Kept {
  readonly slab: EntrySlab;
  readonly offset: number;
  readonly length: number;
  readonly template: TemplateSlab | undefined;
}

export interface SlabArenaOptions {
  /** Numbers of slabs, each once. */
  readonly nextId: () => number;
  readonly weights: Weights;
  /** What an entry keeps was copied to another slab. */
  readonly moved: (entry: CacheEntry) => void;
  /** Nothing of the present state is in it. */
  readonly unused: (slab: Slab) => void;
}

export class SlabArena {
  readonly #options: SlabArenaOptions;
  /** The one that is being filled. */
  #newest: EntrySlab | undefined;
  /** By their memory, as long as anybody has a view of it. */
  readonly #slabs = new WeakMap<ArrayBufferLike, EntrySlab>();
  readonly #placedTemplates = new WeakMap<ArrayBufferLike, TemplateSlab>();
  /** As long as entries may be made of it. */
  readonly #templates = new WeakMap<Template, TemplateSlab>();
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

  /** Where what the entry keeps is; it is copied in when it is in no slab yet. */
  locate(entry: CacheEntry): Located {
    const { slab, offset, length, template } = this.#find(entry) ?? this.#place(entry);
    if (template === undefined) return { place: [slab.id, offset, length], slabs: [slab] };
    return { place: [slab.id, offset, length, template.id, entry.size], slabs: [slab, template] };
  }

  /** The entry is of the present state from now on. */
  hold(entry: CacheEntry): void {
    let kept = this.#find(entry) ?? this.#place(entry);
    if (kept.slab.live.has(entry)) return;
    // What was of the state before, and comes back to it.
    if (kept.slab.retired) kept = this.#copy(entry, kept);
    const { slab, length, template } = kept;
    slab.live.add(entry);
    slab.liveBytes += length;
    this.#liveBytes += length;
    if (template !== undefined && template.users++ === 0) this.#count(template, 1);
  }

  /** The entry is not of the present state any more. */
  drop(entry: CacheEntry): void {
    const kept = this.#find(entry);
    if (kept === undefined || !kept.slab.live.delete(entry)) return;
    const { slab, length, template } = kept;
    slab.liveBytes -= length;
    this.#liveBytes -= length;
    if (template !== undefined && --template.users === 0) {
      this.#count(template, -1);
      this.#options.unused(template);
    }
    this.#tidy(slab);
  }

  #count({ memory }: TemplateSlab, sign: 1 | -1): void {
    this.#liveBytes += sign * memory.byteLength;
    this.#slabBytes += sign * memory.byteLength;
  }

  #find(entry: CacheEntry): Kept | undefined {
    const { kept } = entry;
    if (isWhole(kept)) {
      const slab = this.#slabs.get(kept.buffer);
      return slab && { slab, offset: kept.byteOffset, length: kept.length, template: undefined };
    }
    if (!(kept instanceof PlacedBytes)) return undefined;
    const slab = this.#slabs.get(kept.slab.buffer);
    if (slab === undefined) return undefined;
    const template = this.#placedTemplates.get(kept.template.memory);
    return { slab, offset: kept.offset, length: kept.packedLength, template };
  }

  /** Empties a slab that is hardly used. */
  #tidy(slab: EntrySlab): void {
    if (slab.retired || slab === this.#newest || slab.liveBytes * 2 >= slab.memory.byteLength) return;
    slab.retired = true;
    this.#slabBytes -= slab.memory.byteLength;
    for (const entry of slab.live) {
      const { length, ...kept } = this.#find(entry) as Kept;
      const copy = this.#copy(entry, { length, ...kept });
      // Its template has as many users as before.
      copy.slab.live.add(entry);
      copy.slab.liveBytes += length;
      this.#options.moved(entry);
    }
    slab.live.clear();
    this.#options.unused(slab);
  }

  #place(entry: CacheEntry): Kept {
    const sharing = entry.sharing();
    if (sharing !== undefined) return this.#placePacked(entry, sharing);
    const { bytes } = entry;
    const { slab, offset } = this.#reserve(bytes.length);
    copyMemory(bytes, slab.bytes, offset);
    entry.rebind(slab.bytes.subarray(offset, offset + bytes.length));
    return { slab, offset, length: bytes.length, template: undefined };
  }

  #placePacked(entry: CacheEntry, sharing: SharedBytes): Kept {
    const template = this.#placedTemplate(sharing.template);
    const { length, ownLength: packedLength } = sharing;
    const { slab, offset } = this.#reserve(packedLength);
    sharing.packTo(slab.bytes, offset);
    const place = { slab: slab.bytes, offset, packedLength, template: template.writer.placed, length };
    entry.rebind(new PlacedBytes(place));
    return { slab, offset, length: packedLength, template };
  }

  #placedTemplate(template: Template): TemplateSlab {
    let placed = this.#templates.get(template);
    if (placed === undefined) {
      placed = new TemplateSlab(this.#options.nextId(), new TemplateWriter(template));
      this.#options.weights.add(placed.memory);
      this.#templates.set(template, placed);
      this.#placedTemplates.set(placed.memory, placed);
    }
    placed.writer.update();
    return placed;
  }

  /** Copies what the entry keeps to the newest slab. */
  #copy(entry: CacheEntry, { slab: from, offset: start, length, template }: Kept): Kept {
    const { slab, offset } = this.#reserve(length);
    copyMemory(from.bytes.subarray(start, start + length), slab.bytes, offset);
    if (template === undefined) entry.rebind(slab.bytes.subarray(offset, offset + length));
    else {
      const { placed } = template.writer;
      const place = { slab: slab.bytes, offset, packedLength: length, template: placed, length: entry.size };
      entry.rebind(new PlacedBytes(place));
    }
    return { slab, offset, length, template };
  }

  #reserve(bytes: number): { readonly slab: EntrySlab; readonly offset: number } {
    const slab = this.#roomFor(bytes);
    const offset = slab.used;
    slab.used += bytes;
    return { slab, offset };
  }

  #roomFor(bytes: number): EntrySlab {
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

  #add(bytes: number): EntrySlab {
    const memory = new SharedArrayBuffer(bytes);
    this.#options.weights.add(memory);
    const slab = new EntrySlab(this.#options.nextId(), memory);
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
