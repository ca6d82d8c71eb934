/** Sends the streams of a connection as far as the peer's windows and the socket allow. */
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

/** A part that waits behind `pending`. */
export interface Part {
  readonly bytes: Buffer;
  readonly left: (() => void) | undefined;
}

const nothing = Buffer.alloc(0);

export class OutgoingStream {
  /** 0 until the stream is opened. */
  id = 0;
  /** Bytes that the peer accepts. */
  window = 0;
  /** Data that waits to be sent. */
  pending: Buffer = nothing;
  /** Called when `pending` was written and its memory may be reused. */
  left: (() => void) | undefined;
  /** No data follows. */
  ends = false;
  /** Everything was sent. */
  done = false;
  /** Parts behind `pending`; rarely used. */
  #more: Part[] | undefined;

  get hasMore(): boolean {
    return this.#more !== undefined && this.#more.length > 0;
  }

  /** Appends data. */
  add(bytes: Buffer, left?: () => void): void {
    if (this.pending.length === 0 && !this.hasMore) {
      this.pending = bytes;
      this.left = left;
      return;
    }
    this.#more ??= [];
    this.#more.push({ bytes, left });
  }

  /** Replaces the sent `pending` by the next part. False if there is none. */
  next(): boolean {
    const part = this.#more?.shift();
    this.pending = part?.bytes ?? nothing;
    this.left = part?.left;
    return part !== undefined;
  }
}

/** Above this many waiting bytes, data stays in its streams. */
const maxWaitingBytes = 1024 * 1024;
/** Bytes that a stream sends before it yields to others. */
const turnBytes = 512 * 1024;
/**
 * From this size on, the frames of one send are joined in one buffer, since large writes wake the peer less often. Only
 * for callers that pass `left` and account for the memory: a slow peer holds that much.
 */
const leastJoined = 64 * 1024;

export class Outgoing<S extends OutgoingStream> {
  readonly #writer: FrameWriter;
  readonly #sent: (stream: S) => void;
  /** Streams with unsent data, in the order in which they continue. */
  readonly #blocked = new Set<S>();
  /** Frame size that the peer accepts. */
  frameBytes = defaultFrameBytes;
  #initialWindow = defaultWindowBytes;
  #window = defaultWindowBytes;
  /** The peer's table size changed and must be acknowledged. */
  #tableChanged = false;

  /** `sent`: called when a stream has no more data: at its end, and after it had to wait. */
  constructor(socket: Duplex, writer: FrameWriter, sent: (stream: S) => void) {
    this.#writer = writer;
    this.#sent = sent;
    socket.on('drain', () => this.pumpBlocked());
  }

  /** Streams that wait for a window or the socket. */
  get blocked(): ReadonlySet<S> {
    return this.#blocked;
  }

  /** Sends a header block, split at the peer's frame size, which is rarely necessary. */
  head(stream: S, block: Buffer, ends: boolean): void {
    let bytes = block;
    if (this.#tableChanged) {
      // The table is never used, but a change of its size must be acknowledged (RFC 7541, 4.2).
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

  /** Gives a new stream the peer's initial window. */
  opened(stream: S): void {
    stream.window = this.#initialWindow;
  }

  /** Sends as much of the stream's data as windows allow. */
  pump(stream: S): void {
    let sent = 0;
    do {
      const { pending } = stream;
      let at = 0;
      while (at < pending.length) {
        const room = Math.min(pending.length - at, stream.window, this.#window);
        if (room <= 0 || sent >= turnBytes || this.#writer.waiting > maxWaitingBytes) break;
        const joins = room >= leastJoined && stream.left !== undefined;
        // Smaller frames than the peer allows: a part is written uncopied, and a slow peer holds it.
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

  /** Queues the stream behind longer waiting ones if it had its turn. */
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

  /** Stops sending the stream. */
  forget(stream: S): void {
    this.#blocked.delete(stream);
  }

  clear(): void {
    this.#blocked.clear();
  }

  /** The peer changed the size of its header table. */
  resizeTable(): void {
    this.#tableChanged = true;
  }

  /** Throws a ConnectionError if a window becomes too large. */
  resizeWindows(streams: readonly S[], initialWindow: number): void {
    for (const stream of streams) {
      stream.window += initialWindow - this.#initialWindow;
      if (stream.window > maxWindow) throw new ConnectionError(resetCode.FLOW_CONTROL_ERROR, 'window is too large');
    }
    this.#initialWindow = initialWindow;
  }

  /** Enlarges the connection's window. Throws a ConnectionError for an invalid increment. */
  grow(increment: number): void {
    if (increment === 0) throw new ConnectionError(resetCode.PROTOCOL_ERROR, 'WINDOW_UPDATE with increment 0');
    this.#window += increment;
    if (this.#window > maxWindow) throw new ConnectionError(resetCode.FLOW_CONTROL_ERROR, 'window is too large');
    this.pumpBlocked();
  }
}

const remembered = 64;

/**
 * Remembers how the peer closed its last streams, to distinguish protocol violations from frames sent before this side
 * reset a stream. Bounded; older streams are ignored.
 */
export class ClosedStreams {
  /** Ids of streams that the peer ended, negative for those that it reset. */
  readonly #ids = new Int32Array(remembered);
  #next = 0;

  add(streamId: number, how: 'ended' | 'reset'): void {
    this.#ids[this.#next] = how === 'ended' ? streamId : -streamId;
    this.#next = (this.#next + 1) % remembered;
  }

  /** Undefined if the peer did not close it, or long ago. */
  get(streamId: number): 'ended' | 'reset' | undefined {
    if (this.#ids.includes(streamId)) return 'ended';
    return this.#ids.includes(-streamId) ? 'reset' : undefined;
  }
}

export interface Identified {
  /** A positive odd number. */
  readonly id: number;
}

/** A power of two. */
const leastSlots = 16;

/**
 * Open streams by id, in a hash table with open addressing.
 *
 * Why not a Map: V8 links the old table of a rehashed Map to the new one. Once such a table is in the old generation,
 * all later ones stay reachable with their contents, that is, with everything that running calls hold: each scavenge
 * promotes them, and full collections are a dozen times as frequent.
 */
export class StreamTable<T extends Identified> {
  /** At most half are used, so lookups stay short. */
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

  /** False if absent. */
  delete(id: number): boolean {
    const slots = this.#slots;
    const last = slots.length - 1;
    let hole = this.#find(id);
    if (slots[hole] === undefined) return false;
    this.#size--;
    // Move later entries up, since a lookup stops at the first free slot.
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

  /** All streams, unordered. */
  values(): T[] {
    return this.#slots.filter((stream) => stream !== undefined);
  }

  clear(): void {
    this.#slots = empty(leastSlots);
    this.#size = 0;
  }

  /** Slot of the stream, or the free slot where it belongs. */
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
