/** The streams of a connection, and what is sent on them, as far as the peer's windows and the socket have room. */
import type { Duplex } from 'node:stream';
import type { FrameWriter } from '#http/http2/frame-writer.js';
import {
  ConnectionError,
  defaultFrameBytes,
  defaultWindowBytes,
  frame,
  frameFlag,
  frameHeadBytes,
  frameType,
  maxWindow,
  resetCode,
  writeFrameHead,
} from '#http/http2/frames.js';
import { emptyTable } from '#http/http2/hpack.js';

/** The sending half of a stream: what is still to be sent on it. */
export interface Part {
  readonly bytes: Buffer;
  readonly left: (() => void) | undefined;
}

const nothing = Buffer.alloc(0);

export class OutgoingStream {
  /** 0 before it is opened. */
  id = 0;
  /** Bytes that the peer still takes. */
  window = 0;
  /** Data that is still to be sent. */
  pending: Buffer = nothing;
  /** Called when that has been written, so that its memory may be used for something else. */
  left: (() => void) | undefined;
  /** Nothing follows the data that is here. */
  ends = false;
  /** All has been sent. */
  done = false;
  /** Behind `pending`; hardly any stream has any. */
  #more: Part[] | undefined;

  get hasMore(): boolean {
    return this.#more !== undefined && this.#more.length > 0;
  }

  /** Puts data behind what is there. */
  add(bytes: Buffer, left?: () => void): void {
    if (this.pending.length === 0 && !this.hasMore) {
      this.pending = bytes;
      this.left = left;
      return;
    }
    this.#more ??= [];
    this.#more.push({ bytes, left });
  }

  /** `pending` has been sent: the next part takes its place. False when there is none. */
  next(): boolean {
    const part = this.#more?.shift();
    this.pending = part?.bytes ?? nothing;
    this.left = part?.left;
    return part !== undefined;
  }
}

/** With so much waiting for the socket, data stays with its streams. */
const maxWaitingBytes = 1024 * 1024;
/** A stream sends so much before others have their turn. */
const turnBytes = 512 * 1024;
/**
 * From here on the frames of what is sent at once are put together at once: large writes wake the peer less often. Only for those
 * who are told when it has left, and so know what it takes: a slow peer holds that much memory.
 */
const leastJoined = 64 * 1024;

export class Outgoing<S extends OutgoingStream> {
  readonly #writer: FrameWriter;
  readonly #sent: (stream: S) => void;
  /** With data that there was no room for; in the order in which they go on. */
  readonly #blocked = new Set<S>();
  /** Bytes of a frame that the peer takes. */
  frameBytes = defaultFrameBytes;
  #initialWindow = defaultWindowBytes;
  #window = defaultWindowBytes;
  /** The peer's table of headers has another size than it was last told. */
  #tableChanged = false;

  /** `sent`: told of each stream with nothing more to send: at its end, and where it had to wait. */
  constructor(socket: Duplex, writer: FrameWriter, sent: (stream: S) => void) {
    this.#writer = writer;
    this.#sent = sent;
    socket.on('drain', () => this.pumpBlocked());
  }

  /** Streams that wait for room. */
  get blocked(): ReadonlySet<S> {
    return this.#blocked;
  }

  /** Sends a head, in as many frames as the peer's bound asks for; hardly any needs two. */
  head(stream: S, block: Buffer, ends: boolean): void {
    let bytes = block;
    if (this.#tableChanged) {
      // What is written here never uses the table, but a change of its size has to be told all the same (RFC 7541, 4.2).
      bytes = Buffer.concat([emptyTable, block]);
      this.#tableChanged = false;
    }
    const endsStream = ends ? frameFlag.END_STREAM : 0;
    let at = 0;
    do {
      const end = Math.min(bytes.length, at + this.frameBytes);
      const last = end === bytes.length ? frameFlag.END_HEADERS : 0;
      const part = at === 0 && last !== 0 ? bytes : bytes.subarray(at, end);
      if (at === 0) this.#writer.send(frame(frameType.HEADERS, last | endsStream, stream.id, part));
      else this.#writer.send(frame(frameType.CONTINUATION, last, stream.id, part));
      at = end;
    } while (at < bytes.length);
    if (!ends) return;
    stream.done = true;
    this.#sent(stream);
  }

  /** A stream may send now, as much as the peer takes of each at first. */
  opened(stream: S): void {
    stream.window = this.#initialWindow;
  }

  /** Sends as much of the stream's data as there is room for. */
  pump(stream: S): void {
    let sent = 0;
    do {
      const { pending } = stream;
      let at = 0;
      while (at < pending.length) {
        const room = Math.min(pending.length - at, stream.window, this.#window);
        if (room <= 0 || sent >= turnBytes || this.#writer.waiting > maxWaitingBytes) break;
        const joins = room >= leastJoined && stream.left !== undefined;
        // Small frames where the peer takes larger ones: a part is written as it is, and a slow peer holds it.
        const length = Math.min(room, joins ? turnBytes - sent : Math.min(this.frameBytes, leastJoined));
        const whole = at + length === pending.length;
        const ends = stream.ends && whole && !stream.hasMore;
        const part = length === pending.length ? pending : pending.subarray(at, at + length);
        this.#data(stream, part, ends, whole ? stream.left : undefined);
        at += length;
        sent += length;
      }
      if (at < pending.length) {
        if (at > 0) stream.pending = pending.subarray(at);
        this.#wait(stream, sent);
        return;
      }
    } while (stream.next());
    const waited = this.#blocked.delete(stream);
    if (stream.ends && !stream.done) this.#data(stream, nothing, true, undefined);
    if (stream.ends || waited) this.#sent(stream);
  }

  #data(stream: S, bytes: Buffer, ends: boolean, left: (() => void) | undefined): void {
    const { length } = bytes;
    if (length > this.frameBytes) this.#frames(stream, bytes, ends, left);
    else {
      const head = Buffer.allocUnsafe(frameHeadBytes);
      this.#dataHead(head, 0, stream, length, ends);
      this.#writer.send(head);
      if (length > 0) this.#writer.send(bytes, left);
    }
    stream.window -= length;
    this.#window -= length;
    stream.done = ends;
  }

  #frames(stream: S, bytes: Buffer, ends: boolean, left: (() => void) | undefined): void {
    const count = Math.ceil(bytes.length / this.frameBytes);
    const fill = (part: Buffer): void => {
      for (let from = 0, at = 0; from < bytes.length; ) {
        const length = Math.min(bytes.length - from, this.frameBytes);
        at = this.#dataHead(part, at, stream, length, ends && from + length === bytes.length);
        part.set(bytes.subarray(from, from + length), at);
        at += length;
        from += length;
      }
    };
    this.#writer.sendPart(bytes.length + count * frameHeadBytes, fill, left);
  }

  #dataHead(target: Buffer, at: number, { id: streamId }: S, length: number, ends: boolean): number {
    const flags = ends ? frameFlag.END_STREAM : 0;
    return writeFrameHead(target, at, { type: frameType.DATA, flags, streamId, length });
  }

  /** Behind those that have waited longer, when it has had its turn. */
  #wait(stream: S, sent: number): void {
    if (sent > 0) this.#blocked.delete(stream);
    this.#blocked.add(stream);
    if (sent >= turnBytes) setImmediate(this.pumpBlocked);
  }

  readonly pumpBlocked = (): void => {
    if (this.#blocked.size === 0) return;
    for (const stream of [...this.#blocked]) {
      if (this.#window <= 0 || this.#writer.waiting > maxWaitingBytes) return;
      if (stream.window > 0 && this.#blocked.has(stream)) this.pump(stream);
    }
  };

  /** Nothing more is sent on it. */
  forget(stream: S): void {
    this.#blocked.delete(stream);
  }

  clear(): void {
    this.#blocked.clear();
  }

  /** The peer's table of headers has another size now. */
  resizeTable(): void {
    this.#tableChanged = true;
  }

  /** Throws a ConnectionError for a window that cannot be. */
  resizeWindows(streams: readonly S[], initialWindow: number): void {
    for (const stream of streams) {
      stream.window += initialWindow - this.#initialWindow;
      if (stream.window > maxWindow) throw new ConnectionError(resetCode.FLOW_CONTROL_ERROR, 'a window is too large');
    }
    this.#initialWindow = initialWindow;
  }

  /** The window of the connection. Throws a ConnectionError for one that cannot be. */
  grow(increment: number): void {
    if (increment === 0) throw new ConnectionError(resetCode.PROTOCOL_ERROR, 'a window that does not grow');
    this.#window += increment;
    if (this.#window > maxWindow) throw new ConnectionError(resetCode.FLOW_CONTROL_ERROR, 'a window is too large');
    this.pumpBlocked();
  }
}

const remembered = 64;

/**
 * How the last streams that the peer closed were closed, so that what it sends on them afterwards can be told from what
 * was under way when this side gave a stream up. Bounded: what is older is ignored.
 */
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
