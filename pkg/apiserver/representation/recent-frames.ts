/**
 * What the watches of a server share: encoders, and the newest frames. A change goes to all watchers of a form as the same
 * bytes. Frames of a form stand one behind the other in blocks, in the order in which they were asked for first: several
 * changes that wait for a watcher are one piece of a block, wherever it has come to. So whoever is behind costs no more
 * than others, but for the sending.
 */
import type { Encoding } from '#apimachinery/codec/negotiate.js';
import type { FrameEncoder } from '#apiserver/representation/watch-frames.js';
import type { ServedResource } from '#apiserver/resources/served-resource.js';
import type { ResourceEvent } from '#storage/resource-storage.js';

/** Events in a row as the bytes of one form. */
export interface Run {
  readonly bytes: Buffer;
  /** Of each event. */
  readonly sizes: readonly number[];
}

interface Asked extends Run {
  readonly batch: readonly ResourceEvent[];
  readonly at: number;
  readonly form: string;
}

/** Memory of frames, of all forms together. */
const keptBytes = 2 * 1024 * 1024;
/** The first block of a form, and the largest of more than one frame. */
const firstBlockBytes = 4 * 1024;
const mostBlockBytes = 64 * 1024;

class Block {
  readonly form: string;
  readonly bytes: Buffer;
  readonly #events: ResourceEvent[] = [];
  /** Where each begins, and the last ends. */
  readonly #starts: number[] = [0];
  readonly #sizes: number[] = [];
  /** By the event: the last place where it is. */
  readonly #places = new Map<ResourceEvent, number>();

  constructor(form: string, size: number) {
    this.form = form;
    this.bytes = Buffer.allocUnsafeSlow(size);
  }

  get #end(): number {
    return this.#starts[this.#events.length] as number;
  }

  get room(): number {
    return this.bytes.length - this.#end;
  }

  place(event: ResourceEvent): number | undefined {
    return this.#places.get(event);
  }

  /** How many events from that place on are those of the batch from the one `at`. */
  matching(place: number, batch: readonly ResourceEvent[], at: number): number {
    const most = Math.min(this.#events.length - place, batch.length - at);
    let count = 0;
    while (count < most && this.#events[place + count] === batch[at + count]) count++;
    return count;
  }

  /** Whether what is added comes right behind so many events from that place on. */
  endsWith(place: number, count: number): boolean {
    return place + count === this.#events.length;
  }

  /** For what there is `room`. */
  add(event: ResourceEvent, parts: readonly Buffer[]): void {
    const start = this.#end;
    let at = start;
    for (const part of parts) {
      this.bytes.set(part, at);
      at += part.length;
    }
    this.#sizes.push(at - start);
    this.#places.set(event, this.#events.length);
    this.#events.push(event);
    this.#starts.push(at);
  }

  run(place: number, count: number): Run {
    const end = place + count;
    return {
      bytes: this.bytes.subarray(this.#starts[place], this.#starts[end]),
      sizes: this.#sizes.slice(place, end),
    };
  }
}

export class RecentFrames {
  readonly #encoders = new WeakMap<ServedResource, Map<Encoding, FrameEncoder>>();
  /** The newest last. */
  readonly #blocks: Block[] = [];
  #bytes = 0;
  /**
   * What was asked for last, and before that: those who wait for the same come one after the other, and where it crosses the
   * end of a block they ask for two pieces by turns.
   */
  #last: Asked | undefined;
  #before: Asked | undefined;

  /** The one encoder of a resource's whole objects in that format: it knows nothing of the watch. */
  encoder(resource: ServedResource, format: Encoding, make: () => FrameEncoder): FrameEncoder {
    let encoders = this.#encoders.get(resource);
    if (encoders === undefined) {
      encoders = new Map();
      this.#encoders.set(resource, encoders);
    }
    let encoder = encoders.get(format);
    if (encoder === undefined) {
      encoder = make();
      encoders.set(format, encoder);
    }
    return encoder;
  }

  /** As many of these very events, from the one `at`, as are in one piece in that form: at least one. */
  run(batch: readonly ResourceEvent[], at: number, form: string, encoder: FrameEncoder): Run {
    const last = this.#last;
    if (last !== undefined && last.batch === batch && last.at === at && last.form === form) return last;
    const before = this.#before;
    this.#before = last;
    if (before !== undefined && before.batch === batch && before.at === at && before.form === form) this.#last = before;
    else {
      const { bytes, sizes } = this.#piece(batch, at, form, encoder);
      this.#last = { bytes, sizes, batch, at, form };
    }
    return this.#last;
  }

  #piece(batch: readonly ResourceEvent[], at: number, form: string, encoder: FrameEncoder): Run {
    const wanted = batch.length - at;
    const newest = this.#blocks.findLast((block) => block.form === form);
    const found = this.#find(batch[at] as ResourceEvent, form);
    if (found !== undefined) {
      const { block, place } = found;
      const count = block.matching(place, batch, at);
      if (count === wanted) return block.run(place, count);
      if (block.endsWith(place, count)) {
        // More is put behind them, or stands at the beginning of another block.
        const added = block === newest ? this.#append(block, batch, at + count, encoder) : 0;
        return block.run(place, count + added);
      }
    }
    return this.#anew(batch, at, form, { encoder, newest });
  }

  #find(event: ResourceEvent, form: string): { readonly block: Block; readonly place: number } | undefined {
    for (let i = this.#blocks.length - 1; i >= 0; i--) {
      const block = this.#blocks[i] as Block;
      const place = block.form === form ? block.place(event) : undefined;
      if (place !== undefined) return { block, place };
    }
    return undefined;
  }

  /** Adds the events from the one `at` on, as far as there is room; returns how many. */
  #append(block: Block, batch: readonly ResourceEvent[], at: number, encoder: FrameEncoder): number {
    let added = 0;
    for (; at + added < batch.length; added++) {
      const event = batch[at + added] as ResourceEvent;
      const parts = encoder.event(event);
      if (lengthOf(parts) > block.room) break;
      block.add(event, parts);
    }
    return added;
  }

  /** Puts them behind all others of the form. */
  #anew(
    batch: readonly ResourceEvent[],
    at: number,
    form: string,
    { encoder, newest }: { readonly encoder: FrameEncoder; readonly newest: Block | undefined },
  ): Run {
    const event = batch[at] as ResourceEvent;
    const parts = encoder.event(event);
    const length = lengthOf(parts);
    let block = newest;
    if (block === undefined || block.room < length) {
      const size = block === undefined ? firstBlockBytes : Math.min(mostBlockBytes, 4 * block.bytes.length);
      block = this.#open(form, Math.max(length, size));
    }
    block.add(event, parts);
    const place = block.place(event) as number;
    return block.run(place, 1 + this.#append(block, batch, at + 1, encoder));
  }

  #open(form: string, size: number): Block {
    const block = new Block(form, size);
    this.#blocks.push(block);
    this.#bytes += size;
    while (this.#bytes > keptBytes && this.#blocks.length > 1) {
      this.#bytes -= (this.#blocks.shift() as Block).bytes.length;
    }
    return block;
  }
}

function lengthOf(parts: readonly Buffer[]): number {
  return parts.reduce((sum, part) => sum + part.length, 0);
}
