/**
 * How the last streams that the peer closed were closed, so that what it sends on them afterwards can be told from what
 * was under way when this side gave a stream up. Bounded: what is older is ignored.
 */
const remembered = 64;

export class ClosedStreams {
  /** Ids of those that the peer ended; minus the ids of those that it reset. */
  readonly #ids = new Int32Array(remembered);
  #next = 0;

  add(streamId: number, how: 'ended' | 'reset'): void {
    this.#ids[this.#next] = how === 'ended' ? streamId : -streamId;
    this.#next = (this.#next + 1) % remembered;
  }

  /** Undefined: not by the peer, or long ago. */
  get(streamId: number): 'ended' | 'reset' | undefined {
    if (this.#ids.includes(streamId)) return 'ended';
    return this.#ids.includes(-streamId) ? 'reset' : undefined;
  }
}

/**
 * The open streams of a connection by their ids: a hash table with open addressing.
 *
 * Why not a Map: when a Map whose members come and go is made anew from time to time, V8 links its old table to the new
 * one. Once one of these tables is in the old generation, all later ones are kept with what was in them, which is
 * whatever the calls under way held: each scavenge promotes it, and full collections come a dozen times as often.
 */
export interface Identified {
  /** A positive odd number. */
  readonly id: number;
}

/** A power of two. */
const leastSlots = 16;

export class StreamTable<T extends Identified> {
  /** At most half of them are taken, so that what is looked for is near the place where it belongs. */
  #slots: (T | undefined)[] = empty(leastSlots);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(id: number): T | undefined {
    return this.#slots[this.#find(id)];
  }

  has(id: number): boolean {
    return this.get(id) !== undefined;
  }

  add(stream: T): void {
    if ((this.#size + 1) * 2 > this.#slots.length) this.#grow();
    const at = this.#find(stream.id);
    if (this.#slots[at] === undefined) this.#size++;
    this.#slots[at] = stream;
  }

  /** False when there was none. */
  delete(id: number): boolean {
    const slots = this.#slots;
    const last = slots.length - 1;
    let hole = this.#find(id);
    if (slots[hole] === undefined) return false;
    this.#size--;
    // Those behind it that belong before it move up, since a search ends at the first free slot.
    for (let at = (hole + 1) & last; ; at = (at + 1) & last) {
      const stream = slots[at];
      if (stream === undefined) break;
      if (((at - this.#home(stream.id)) & last) < ((at - hole) & last)) continue;
      slots[hole] = stream;
      hole = at;
    }
    slots[hole] = undefined;
    return true;
  }

  /** Those of now, in no order. */
  values(): T[] {
    return this.#slots.filter((stream) => stream !== undefined);
  }

  clear(): void {
    this.#slots = empty(leastSlots);
    this.#size = 0;
  }

  /** Where the stream is, or the free slot where it would be. */
  #find(id: number): number {
    const slots = this.#slots;
    let at = this.#home(id);
    for (let stream = slots[at]; stream !== undefined && stream.id !== id; stream = slots[at]) {
      at = (at + 1) & (slots.length - 1);
    }
    return at;
  }

  #home(id: number): number {
    return (id >>> 1) & (this.#slots.length - 1);
  }

  #grow(): void {
    const streams = this.values();
    this.#slots = empty(this.#slots.length * 2);
    for (const stream of streams) this.#slots[this.#find(stream.id)] = stream;
  }
}

function empty<T>(size: number): (T | undefined)[] {
  return Array.from({ length: size }, () => undefined);
}
