/**
 * SPDY/3.1 over any byte stream, as client or server: command line clients and container runtimes of 1.24 multiplex
 * exec, attach and port-forward with it.
 *
 * Flow control: those clients and runtimes share an implementation without windows. So this side sends WINDOW_UPDATE
 * and waits for it only after the peer has shown that it keeps windows, by a WINDOW_UPDATE or a SETTINGS with an
 * initial window. (Frames that such a peer has not read when it closes would make its system discard its last data.)
 * Without windows the connection itself applies back-pressure: it is not read while readers are more than
 * `maxUnreadBytes` behind.
 *
 * Why not spdy-transport: it always keeps windows, so with peers that do not it stalls after the first window.
 */
import { EventEmitter } from 'node:events';
import type { Duplex } from 'node:stream';
import {
  controlFrame,
  dataHead,
  FrameReader,
  frameFlag,
  frameType,
  goAwayStatus,
  resetStatus,
  SpdyProtocolError,
  uint32s,
} from '#daemon/streaming/spdy/frames.js';
import { HeaderReader, HeaderWriter, type SpdyHeaders } from '#daemon/streaming/spdy/headers.js';
import { initialWindowBytes, SpdyStream, type StreamOwner } from '#daemon/streaming/spdy/stream.js';

export { SpdyStream } from '#daemon/streaming/spdy/stream.js';

/** Larger writes are split into data frames of this size. */
const maxDataBytes = 32 * 1024;
/** Writers continue while the connection buffers less than this. */
const highWaterBytes = 64 * 1024;
/** A WINDOW_UPDATE grants at least this. */
const windowStep = initialWindowBytes / 2;
const maxWindow = 2 ** 31 - 1;
/** Limit of bytes read from the connection but not yet parsed. */
const maxArrivedBytes = 64 * 1024;
/** Memory of an unread frame beside its bytes: a peer may send a megabyte in frames of one byte. */
const frameBytes = 128;
/** Limit of unread replies (to pings, or for closed streams). */
const maxAnswers = 1000;
/** SETTINGS id of the initial window. */
const settingInitialWindow = 7;
const maxStreamId = 2 ** 31 - 1;

export interface SpdySessionOptions {
  /** Limit of open streams; further ones of the peer are refused. Default 4096. */
  readonly maxStreams?: number;
  /** Limit of memory for what all readers together have not read; default 1 MiB. */
  readonly maxUnreadBytes?: number;
  /** Whether to accept a stream of the peer; default: all. */
  readonly admit?: (headers: SpdyHeaders) => boolean;
  /** Called for data in either direction, not for pings and the like. */
  readonly onData?: () => void;
}

interface SessionEvents {
  /** The peer opened a stream, which is already accepted. */
  stream: [SpdyStream];
  /** The connection is closed or unusable, and so are all streams. Written data may still leave. */
  close: [];
}

export class SpdySession extends EventEmitter<SessionEvents> implements StreamOwner {
  readonly #connection: Duplex;
  readonly #options: Required<Pick<SpdySessionOptions, 'maxStreams' | 'maxUnreadBytes'>> & SpdySessionOptions;
  readonly #frames = new FrameReader();
  readonly #writer = new HeaderWriter();
  readonly #reader = new HeaderReader();
  readonly #streams = new Map<number, SpdyStream>();
  #nextId: number;
  #lastPeerId = 0;
  #nextPing: number;
  /** Callbacks of pings without a reply. */
  readonly #pings = new Map<number, () => void>();
  #closed = false;
  /** No more data will arrive. */
  #gone = false;
  /**
   * Data that is not yet parsed. It is taken from the connection immediately: a broken connection drops its buffer, and
   * a peer's last data often arrives together with the end.
   */
  readonly #arrivals: Buffer[] = [];
  #arrivedBytes = 0;
  #peerLeaves = false;
  #unread = 0;
  #answers = 0;
  /** Resumes reading. */
  #wake: (() => void) | undefined;
  /** Consumed bytes that are not yet granted again: per stream, and for the connection (key 0). */
  readonly #ungranted = new Map<number, number>();
  #peerWindow: number | undefined;
  #initialWindow = initialWindowBytes;
  #peerKeepsStreamWindows = false;

  /** @param role Clients open odd stream ids, servers even ones. */
  constructor(connection: Duplex, role: 'client' | 'server', options: SpdySessionOptions = {}) {
    super();
    this.#connection = connection;
    this.#options = { maxStreams: 4096, maxUnreadBytes: 1024 * 1024, ...options };
    this.#nextId = role === 'client' ? 1 : 2;
    this.#nextPing = this.#nextId;
    connection.on('data', (chunk: Buffer) => this.#arrived(chunk));
    for (const event of ['end', 'error', 'close']) connection.on(event, () => this.#ended());
    if (connection.destroyed) this.#gone = true;
    // `#run` handles every failure.
    void this.#run();
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Opens a stream. Throws if the session is closed or out of ids. */
  open(headers: SpdyHeaders): SpdyStream {
    if (this.#closed || this.#peerLeaves || this.#nextId > maxStreamId) throw new Error('the connection is closed');
    const id = this.#nextId;
    this.#nextId += 2;
    const stream = new SpdyStream(this, id, headers, this.#initialWindow);
    this.#streams.set(id, stream);
    const body = Buffer.concat([uint32s(id, 0), Buffer.alloc(2), this.#writer.encode(headers)]);
    this.#write(controlFrame(frameType.synStream, 0, body));
    return stream;
  }

  /**
   * Resolves when the peer replies, which shows that it has read everything before, or when the session closes. Detects
   * a dead peer even if nothing is read from it.
   */
  ping(): Promise<void> {
    if (this.#closed) return Promise.resolve();
    const id = this.#nextPing;
    this.#nextPing = (id + 2) % 2 ** 32;
    this.#write(controlFrame(frameType.ping, 0, uint32s(id)));
    return new Promise((resolve) => this.#pings.set(id, resolve));
  }

  /** Closes the connection once written data has left; streams that the peer has not ended break off. Idempotent. */
  close(status: number = goAwayStatus.ok): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const stream of [...this.#streams.values()]) stream.cutOff();
    if (this.#connection.writable)
      this.#connection.end(controlFrame(frameType.goAway, 0, uint32s(this.#lastPeerId, status)));
    this.#wake?.();
    this.#reader.close();
    for (const resolve of this.#pings.values()) resolve();
    this.#pings.clear();
    this.emit('close');
  }

  // The following methods are called by streams.

  send(stream: SpdyStream): void {
    while (stream.outgoing !== undefined && !stream.outgoing.flushing) {
      const { outgoing } = stream;
      if (this.#closed || !this.#connection.writable) {
        stream.outgoing = undefined;
        outgoing.done(new Error('the connection is closed'));
        return;
      }
      const room = this.#room(stream);
      if (outgoing.bytes.length > 0 && room <= 0) return;
      const part = outgoing.bytes.subarray(0, Math.min(room, maxDataBytes));
      outgoing.bytes = outgoing.bytes.subarray(part.length);
      stream.sendWindow -= part.length;
      if (this.#peerWindow !== undefined) this.#peerWindow -= part.length;
      if (part.length > 0) this.#options.onData?.();
      const sent = () => {
        outgoing.flushing = false;
        if (stream.outgoing !== outgoing) return;
        if (outgoing.bytes.length > 0) this.send(stream);
        else {
          stream.outgoing = undefined;
          outgoing.done();
        }
      };
      outgoing.flushing = this.#connection.writableLength >= highWaterBytes;
      this.#connection.write(Buffer.concat([dataHead(stream.id, outgoing.fin, part.length), part]), () => {
        if (outgoing.flushing) sent();
      });
      if (!outgoing.flushing && outgoing.bytes.length === 0) sent();
    }
  }

  #room(stream: SpdyStream): number {
    const ofStream = this.#peerKeepsStreamWindows ? stream.sendWindow : Number.POSITIVE_INFINITY;
    return Math.min(ofStream, this.#peerWindow ?? Number.POSITIVE_INFINITY);
  }

  reset(stream: SpdyStream, status: number): void {
    if (this.#streams.has(stream.id)) this.#resetId(stream.id, status);
  }

  consumed(stream: SpdyStream, bytes: number, pieces: number): void {
    this.#unread -= bytes + pieces * frameBytes;
    if (this.#wake !== undefined && this.#mayRead()) this.#wake();
    this.#grant(0, bytes);
    if (!stream.remoteEnded && this.#streams.has(stream.id)) this.#grant(stream.id, bytes);
  }

  over(stream: SpdyStream): void {
    this.#streams.delete(stream.id);
    this.#ungranted.delete(stream.id);
    if (this.#peerLeaves && this.#streams.size === 0) this.close();
  }

  #grant(id: number, bytes: number): void {
    if (this.#closed) return;
    const sum = (this.#ungranted.get(id) ?? 0) + bytes;
    const keeps = this.#peerKeepsStreamWindows || this.#peerWindow !== undefined;
    if (!keeps || sum < windowStep) {
      this.#ungranted.set(id, sum);
      return;
    }
    this.#ungranted.set(id, 0);
    // One frame grants at most `maxWindow`.
    for (let left = sum; left > 0; left -= maxWindow) {
      this.#write(controlFrame(frameType.windowUpdate, 0, uint32s(id, Math.min(left, maxWindow))));
    }
  }

  /** The peer keeps windows, and may wait for what was consumed before. */
  #grantAll(): void {
    for (const id of [...this.#ungranted.keys()]) this.#grant(id, 0);
  }

  #write(bytes: Buffer): void {
    if (this.#connection.writable) this.#connection.write(bytes);
  }

  /** Writes a reply. While too many replies are unread, the peer's frames are not read. */
  #answer(bytes: Buffer): void {
    if (!this.#connection.writable) return;
    this.#answers += 1;
    this.#connection.write(bytes, () => {
      this.#answers -= 1;
      if (this.#wake !== undefined && this.#mayRead()) this.#wake();
    });
  }

  #resetId(id: number, status: number): void {
    if (!this.#closed) this.#answer(controlFrame(frameType.rstStream, 0, uint32s(id, status)));
  }

  #mayRead(): boolean {
    return this.#unread <= this.#options.maxUnreadBytes && this.#answers < maxAnswers;
  }

  #arrived(chunk: Buffer): void {
    if (this.#closed) return;
    this.#arrivals.push(chunk);
    this.#arrivedBytes += chunk.length;
    if (this.#arrivedBytes >= maxArrivedBytes) this.#connection.pause();
    this.#wake?.();
  }

  #ended(): void {
    // Take what arrived while paused; a broken connection would drop it.
    for (let chunk = this.#connection.read() as Buffer | null; chunk !== null; ) {
      if (!this.#closed) this.#arrivals.push(chunk);
      chunk = this.#connection.read() as Buffer | null;
    }
    this.#gone = true;
    this.#wake?.();
  }

  /** The next chunk; undefined at the end. */
  async #next(): Promise<Buffer | undefined> {
    while (!this.#closed && !this.#gone && this.#arrivals.length === 0) await this.#woken();
    const chunk = this.#closed ? undefined : this.#arrivals.shift();
    this.#arrivedBytes -= chunk?.length ?? 0;
    if (this.#arrivedBytes < maxArrivedBytes) this.#connection.resume();
    return chunk;
  }

  async #woken(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    this.#wake = undefined;
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    let status: number = goAwayStatus.ok;
    try {
      for (let chunk = await this.#next(); chunk !== undefined; chunk = await this.#next()) {
        for (const frame of this.#frames.read(chunk)) {
          if (frame.kind === 'data') this.#data(frame.id, frame.bytes, frame.fin);
          else await this.#control(frame.type, frame.flags, frame.body);
          while (!this.#closed && !this.#gone && !this.#mayRead()) await this.#woken();
          if (this.#closed) break;
        }
      }
    } catch (error) {
      // After any error nothing more can be read.
      if (error instanceof SpdyProtocolError) status = goAwayStatus.protocolError;
    }
    this.close(status);
    // Discard further input: unread data would make the system cut off the last write.
    this.#arrivals.length = 0;
    this.#connection.resume();
  }

  #data(id: number, bytes: Buffer, fin: boolean): void {
    const stream = this.#streams.get(id);
    if (stream === undefined || stream.remoteEnded) {
      // Frames of a stream that was reset may still arrive; they count for the connection's window, too.
      this.#grant(0, bytes.length);
      if (this.#isNew(id)) this.#resetId(id, resetStatus.invalidStream);
      else if (stream !== undefined && bytes.length > 0) {
        this.#resetId(id, resetStatus.streamAlreadyClosed);
        stream.destroy();
      }
      return;
    }
    this.#unread += bytes.length;
    if (bytes.length > 0) {
      this.#unread += frameBytes;
      this.#options.onData?.();
    }
    stream.receive(bytes, fin);
  }

  /** Whether no stream ever had this id. */
  #isNew(id: number): boolean {
    return id === 0 || (id % 2 === this.#nextId % 2 ? id >= this.#nextId : id > this.#lastPeerId);
  }

  async #control(type: number, flags: number, body: Buffer): Promise<void> {
    switch (type) {
      case frameType.synStream:
        return this.#synStream(flags, body);
      case frameType.synReply: {
        const stream = this.#streams.get(idOf(body));
        // Decode in any case: all blocks of a direction are one compressed stream.
        const headers = await this.#reader.decode(body.subarray(4));
        if (stream === undefined) return;
        if (headers === undefined) this.#fail(stream, resetStatus.protocolError);
        else {
          stream.markAccepted();
          if ((flags & frameFlag.fin) !== 0) stream.receive(Buffer.alloc(0), true);
        }
        return;
      }
      case frameType.headers: {
        const stream = this.#streams.get(idOf(body));
        await this.#reader.decode(body.subarray(4));
        if ((flags & frameFlag.fin) !== 0) stream?.receive(Buffer.alloc(0), true);
        return;
      }
      case frameType.rstStream: {
        // The stream stays registered until its reader has read the earlier data.
        this.#streams.get(idOf(body, 8))?.resetByPeer();
        return;
      }
      case frameType.settings:
        this.#settings(body);
        return;
      case frameType.ping:
        if (body.length !== 4) throw new SpdyProtocolError('malformed PING');
        this.#ping(body.readUInt32BE(0));
        return;
      case frameType.goAway:
        this.#peerLeaves = true;
        if (this.#streams.size === 0) this.close();
        return;
      case frameType.windowUpdate:
        this.#windowUpdate(idOf(body, 8), body.readUInt32BE(4) & maxWindow);
        return;
      default:
        // Unknown frame types are ignored.
        return;
    }
  }

  #ping(id: number): void {
    if (id % 2 !== this.#nextPing % 2) this.#answer(controlFrame(frameType.ping, 0, uint32s(id)));
    else {
      this.#pings.get(id)?.();
      this.#pings.delete(id);
    }
  }

  async #synStream(flags: number, body: Buffer): Promise<void> {
    const id = idOf(body, 10);
    if (id % 2 === this.#nextId % 2 || id <= this.#lastPeerId) {
      throw new SpdyProtocolError(`stream ${id} after ${this.#lastPeerId}`);
    }
    this.#lastPeerId = id;
    const headers = await this.#reader.decode(body.subarray(10));
    if (this.#closed) return;
    if (headers === undefined) return this.#resetId(id, resetStatus.protocolError);
    const { maxStreams, admit } = this.#options;
    const refused =
      this.#streams.size >= maxStreams || (flags & frameFlag.unidirectional) !== 0 || admit?.(headers) === false;
    if (refused) return this.#resetId(id, resetStatus.refusedStream);
    const stream = new SpdyStream(this, id, headers, this.#initialWindow);
    this.#streams.set(id, stream);
    this.#answer(controlFrame(frameType.synReply, 0, Buffer.concat([uint32s(id), this.#writer.encode({})])));
    stream.markAccepted();
    this.emit('stream', stream);
    if ((flags & frameFlag.fin) !== 0) stream.receive(Buffer.alloc(0), true);
  }

  /** The peer violated the protocol on one stream. */
  #fail(stream: SpdyStream, status: number): void {
    this.reset(stream, status);
    this.over(stream);
    stream.destroy();
  }

  #settings(body: Buffer): void {
    if (body.length < 4) throw new SpdyProtocolError('SETTINGS without a count');
    const count = body.readUInt32BE(0);
    if (body.length !== 4 + count * 8) throw new SpdyProtocolError('malformed SETTINGS');
    for (let offset = 4; offset < body.length; offset += 8) {
      if ((body.readUInt32BE(offset) & 0xff_ffff) !== settingInitialWindow) continue;
      const window = body.readUInt32BE(offset + 4);
      if (window > maxWindow) throw new SpdyProtocolError('window exceeds 2^31-1 bytes');
      const change = window - this.#initialWindow;
      this.#initialWindow = window;
      this.#peerKeepsStreamWindows = true;
      this.#grantAll();
      for (const stream of [...this.#streams.values()]) {
        stream.sendWindow += change;
        this.send(stream);
      }
    }
  }

  #windowUpdate(id: number, bytes: number): void {
    if (id === 0) {
      // Bytes were not counted until now, and this grant includes all earlier ones.
      this.#peerWindow = Math.max(this.#peerWindow ?? 0, 0) + bytes;
      this.#grantAll();
      if (this.#peerWindow > maxWindow) throw new SpdyProtocolError('window exceeds 2^31-1 bytes');
      for (const stream of [...this.#streams.values()]) this.send(stream);
      return;
    }
    this.#peerKeepsStreamWindows = true;
    this.#grantAll();
    const stream = this.#streams.get(id);
    if (stream === undefined) return;
    stream.sendWindow += bytes;
    if (stream.sendWindow > maxWindow) this.#fail(stream, resetStatus.flowControlError);
    else this.send(stream);
  }
}

/** The stream id at the start of a frame. Throws if the frame has fewer than `least` bytes. */
function idOf(body: Buffer, least = 4): number {
  if (body.length < least) throw new SpdyProtocolError('frame is too short');
  return body.readUInt32BE(0) & 0x7fff_ffff;
}
