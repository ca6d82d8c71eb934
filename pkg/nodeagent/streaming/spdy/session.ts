/**
 * SPDY/3.1 over any byte stream: what runtimes' streaming servers and command-line clients of 1.24 multiplex exec,
 * attach and port-forward with. Flow-control windows are not kept, because neither peer implementation in the field
 * keeps them (they never send WINDOW_UPDATE and ignore those they get); instead the connection is not read while a
 * stream's reader is behind.
 */
import { EventEmitter } from 'node:events';
import { Duplex } from 'node:stream';
import { HeaderReader, HeaderWriter, type SpdyHeaders } from '#nodeagent/streaming/spdy/headers.js';

const frame = {
  synStream: 1,
  synReply: 2,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  headers: 8,
  window: 9,
} as const;
const flagFin = 0x01;
const version = 0x8003;
/** Data frames carry at most this; larger writes are cut. */
const maxDataBytes = 32 * 1024;
/** What a peer may announce as one frame. */
const maxFrameBytes = 4 * 1024 * 1024;
const rstCancel = 5;

function control(type: number, flags: number, body: Buffer): Buffer {
  const header = Buffer.alloc(8);
  header.writeUInt16BE(version, 0);
  header.writeUInt16BE(type, 2);
  header.writeUInt32BE(body.length, 4);
  header[4] = flags;
  return Buffer.concat([header, body]);
}

function uint32s(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [i, value] of values.entries()) bytes.writeUInt32BE(value >>> 0, i * 4);
  return bytes;
}

/** One stream. Its two directions end apart from each other; `destroy` resets it. */
export class SpdyStream extends Duplex {
  readonly id: number;
  readonly headers: SpdyHeaders;
  readonly #session: SpdySession;
  #localEnded = false;
  #remoteEnded = false;
  /** The peer takes no more bytes: what is still written is dropped, what it sent before is still to be read. */
  #resetByPeer = false;
  #replied: (() => void) | undefined;
  /** Resolves when the peer has accepted the stream. */
  readonly accepted: Promise<void>;

  constructor(session: SpdySession, id: number, headers: SpdyHeaders) {
    super({ allowHalfOpen: true });
    this.#session = session;
    this.id = id;
    this.headers = headers;
    this.accepted = new Promise((resolve, reject) => {
      this.#replied = resolve;
      this.once('close', () => reject(new Error('stream closed before it was accepted')));
    });
    this.accepted.catch(() => undefined);
  }

  override _read(): void {
    this.#session.streamDrained(this);
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    if (this.#resetByPeer) done(new Error('the peer has reset the stream'));
    else this.#session.sendData(this.id, chunk, false, done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#localEnded = true;
    if (this.#resetByPeer) done();
    else this.#session.sendData(this.id, Buffer.alloc(0), true, done);
    this.#session.forgetWhenOver(this, this.#localEnded && this.#remoteEnded);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (!(this.#localEnded && this.#remoteEnded)) this.#session.reset(this);
    this.#session.forgetWhenOver(this, true);
    done(error);
  }

  /** For the session: the peer's reply came. */
  markAccepted(): void {
    this.#replied?.();
  }

  /** For the session: the peer's RST_STREAM came. */
  resetByPeer(): void {
    this.#resetByPeer = true;
    this.receive(Buffer.alloc(0), true);
    this.end();
  }

  /** For the session: bytes from the peer. False when the reader is behind. */
  receive(chunk: Buffer, fin: boolean): boolean {
    let room = true;
    if (chunk.length > 0) room = this.push(chunk);
    if (fin && !this.#remoteEnded) {
      this.#remoteEnded = true;
      this.push(null);
      this.#session.forgetWhenOver(this, this.#localEnded);
    }
    return room || fin;
  }
}

interface SessionEvents {
  /** The peer opened a stream; it has been accepted already. */
  stream: [SpdyStream];
  /** The connection is over; all streams are closed. */
  close: [];
}

export class SpdySession extends EventEmitter<SessionEvents> {
  readonly #connection: Duplex;
  readonly #writer = new HeaderWriter();
  readonly #reader = new HeaderReader();
  readonly #streams = new Map<number, SpdyStream>();
  readonly #behind = new Set<SpdyStream>();
  #wake: (() => void) | undefined;
  #nextId: number;
  #closed = false;

  /** @param role Clients open odd stream ids, servers even ones. */
  constructor(connection: Duplex, role: 'client' | 'server') {
    super();
    this.#connection = connection;
    this.#nextId = role === 'client' ? 1 : 2;
    connection.on('error', () => this.close());
    void this.#run();
  }

  /** Opens a stream with these headers. */
  open(headers: SpdyHeaders): SpdyStream {
    if (this.#closed) throw new Error('the connection is closed');
    const id = this.#nextId;
    this.#nextId += 2;
    const stream = new SpdyStream(this, id, headers);
    stream.on('error', () => undefined);
    this.#streams.set(id, stream);
    const body = Buffer.concat([uint32s(id, 0), Buffer.alloc(2), this.#writer.encode(headers)]);
    this.#connection.write(control(frame.synStream, 0, body));
    return stream;
  }

  /** Ends the connection after what was written has left. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const stream of [...this.#streams.values()]) stream.destroy();
    if (this.#connection.writable) this.#connection.end(control(frame.goAway, 0, uint32s(0, 0)));
    this.#wake?.();
    this.#reader.close();
    this.emit('close');
  }

  sendData(id: number, chunk: Buffer, fin: boolean, done: (error?: Error | null) => void): void {
    if (this.#closed || !this.#connection.writable) {
      done(new Error('the connection is closed'));
      return;
    }
    let offset = 0;
    do {
      const part = chunk.subarray(offset, offset + maxDataBytes);
      offset += part.length;
      const last = offset >= chunk.length;
      const header = uint32s(id, part.length);
      if (fin && last) header[4] = flagFin;
      this.#connection.write(header);
      if (last) this.#connection.write(part, (error) => done(error));
      else this.#connection.write(part);
    } while (offset < chunk.length);
  }

  reset(stream: SpdyStream): void {
    if (this.#closed || !this.#streams.has(stream.id) || !this.#connection.writable) return;
    this.#connection.write(control(frame.rstStream, 0, uint32s(stream.id, rstCancel)));
  }

  forgetWhenOver(stream: SpdyStream, over: boolean): void {
    if (!over) return;
    this.#streams.delete(stream.id);
    this.streamDrained(stream);
  }

  streamDrained(stream: SpdyStream): void {
    if (this.#behind.delete(stream) && this.#behind.size === 0) this.#wake?.();
  }

  async #run(): Promise<void> {
    let buffered: Buffer = Buffer.alloc(0);
    try {
      for await (const chunk of this.#connection as AsyncIterable<Buffer>) {
        buffered = buffered.length === 0 ? chunk : Buffer.concat([buffered, chunk]);
        while (buffered.length >= 8) {
          const length = buffered.readUInt32BE(4) & 0xffffff;
          if (length > maxFrameBytes) throw new RangeError('frame is too large');
          if (buffered.length < 8 + length) break;
          const flags = buffered[4] ?? 0;
          const body = buffered.subarray(8, 8 + length);
          const first = buffered.readUInt32BE(0);
          buffered = buffered.subarray(8 + length);
          if (first >>> 31 === 1) await this.#control(first & 0xffff, flags, body);
          else await this.#data(first, body, (flags & flagFin) !== 0);
        }
        if (this.#closed) break;
      }
    } catch {
      // A broken connection and a peer that breaks the protocol end alike: every stream closes.
    }
    this.close();
  }

  async #data(id: number, body: Buffer, fin: boolean): Promise<void> {
    const stream = this.#streams.get(id);
    if (stream === undefined || stream.receive(body, fin)) return;
    this.#behind.add(stream);
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    this.#wake = undefined;
  }

  async #control(type: number, flags: number, body: Buffer): Promise<void> {
    switch (type) {
      case frame.synStream: {
        const id = body.readUInt32BE(0);
        const headers = await this.#reader.decode(body.subarray(10));
        const stream = new SpdyStream(this, id, headers);
        stream.on('error', () => undefined);
        this.#streams.set(id, stream);
        this.#connection.write(control(frame.synReply, 0, Buffer.concat([uint32s(id), this.#writer.encode({})])));
        stream.markAccepted();
        this.emit('stream', stream);
        if ((flags & flagFin) !== 0) stream.receive(Buffer.alloc(0), true);
        return;
      }
      case frame.synReply:
        // Decoded although empty: the blocks of a direction are one compressed stream.
        await this.#reader.decode(body.subarray(4));
        this.#streams.get(body.readUInt32BE(0))?.markAccepted();
        return;
      case frame.headers:
        await this.#reader.decode(body.subarray(4));
        return;
      case frame.rstStream: {
        const stream = this.#streams.get(body.readUInt32BE(0));
        if (stream === undefined) return;
        this.#streams.delete(stream.id);
        stream.resetByPeer();
        return;
      }
      case frame.ping:
        if (body.readUInt32BE(0) % 2 !== this.#nextId % 2) this.#connection.write(control(frame.ping, 0, body));
        return;
      case frame.goAway:
        this.#closed = this.#streams.size === 0;
        return;
      default:
        return;
    }
  }
}
