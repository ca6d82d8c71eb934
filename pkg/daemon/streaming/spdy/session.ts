/**
 * SPDY/3.1 over any byte stream, as client or server: what command-line clients and runtimes' streaming servers of 1.24
 * multiplex exec, attach and port-forward with.
 *
 * Flow control: the implementation that those clients and runtimes share keeps no windows. So both sides of them, the
 * waiting for WINDOW_UPDATE and the sending of it, begin when the peer has shown that it keeps them, by a WINDOW_UPDATE
 * or a SETTINGS of the initial window. (Sent to the others it would do harm: a peer that closes its connection before it
 * has read them makes the system throw away what it had sent last.) Towards those the connection itself is the brake: it
 * is not read while the readers of its streams are more than `maxUnreadBytes` behind.
 *
 * Why not spdy-transport: it always keeps windows, so towards peers that keep none it stops after the first window.
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

/** Data frames carry at most this; larger writes are cut. */
const maxDataBytes = 32 * 1024;
/** Writers go on while less than this waits in the connection. */
const highWaterBytes = 64 * 1024;
/** What is granted by one WINDOW_UPDATE at least. */
const windowStep = initialWindowBytes / 2;
const maxWindow = 2 ** 31 - 1;
/** Bytes that are taken from the connection before they are looked at. */
const maxArrivedBytes = 64 * 1024;
/** Answers (to pings, to frames for streams that are gone) that a peer may leave unread. */
const maxAnswers = 1000;
/** Ids of SETTINGS. */
const settingInitialWindow = 7;
const maxStreamId = 2 ** 31 - 1;

export interface SpdySessionOptions {
  /** Streams that may be open at a time; the peer's next one is refused. Default 4096. */
  readonly maxStreams?: number;
  /** Bytes that all readers together may be behind; default 1 MiB. */
  readonly maxUnreadBytes?: number;
  /** Whether a stream that the peer opens is taken; default: every one. */
  readonly admit?: (headers: SpdyHeaders) => boolean;
  /** Called for data of either way; pings and the like do not count. */
  readonly onData?: () => void;
}

interface SessionEvents {
  /** The peer opened a stream; it has been accepted already. */
  stream: [SpdyStream];
  /** The connection is of no more use, or was closed, and with it all streams. What was written may still leave. */
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
  /** Whom to tell of the answer. */
  readonly #pings = new Map<number, () => void>();
  #closed = false;
  /** Nothing more will arrive. */
  #gone = false;
  /**
   * What has arrived and is not looked at yet. It is taken from the connection at once, since one that breaks off drops
   * what it has, and the last words of a peer often come together with the end.
   */
  readonly #arrivals: Buffer[] = [];
  #arrivedBytes = 0;
  #peerLeaves = false;
  #unread = 0;
  #answers = 0;
  /** Goes on reading. */
  #wake: (() => void) | undefined;
  /** Of what was consumed, what the peer has not been told yet: of each stream, and (key 0) of all. */
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
    // Every failure is handled inside.
    void this.#run();
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Opens a stream with these headers. Throws when the session is closed or used up. */
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
   * Resolves when the peer has answered, and so has read all that was sent before, or when the session is closed. One
   * that is gone is found out by it, even while nothing is read from it.
   */
  ping(): Promise<void> {
    if (this.#closed) return Promise.resolve();
    const id = this.#nextPing;
    this.#nextPing = (id + 2) % 2 ** 32;
    this.#write(controlFrame(frameType.ping, 0, uint32s(id)));
    return new Promise((resolve) => this.#pings.set(id, resolve));
  }

  /** Ends the connection after what was written has left; streams that their peer has not ended break off. Idempotent. */
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

  // What follows is for the streams.

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

  consumed(stream: SpdyStream, bytes: number): void {
    this.#unread -= bytes;
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
    // As much as one frame can say.
    for (let left = sum; left > 0; left -= maxWindow) {
      this.#write(controlFrame(frameType.windowUpdate, 0, uint32s(id, Math.min(left, maxWindow))));
    }
  }

  /** The peer has just shown that it keeps windows: it may wait for what was consumed before. */
  #grantAll(): void {
    for (const id of [...this.#ungranted.keys()]) this.#grant(id, 0);
  }

  #write(bytes: Buffer): void {
    if (this.#connection.writable) this.#connection.write(bytes);
  }

  /** Writes what a frame of the peer has asked for; a peer that leaves too much of it unread is not read on. */
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
    // What came while it was paused; one that broke off gives it to nobody else.
    for (let chunk = this.#connection.read() as Buffer | null; chunk !== null; ) {
      if (!this.#closed) this.#arrivals.push(chunk);
      chunk = this.#connection.read() as Buffer | null;
    }
    this.#gone = true;
    this.#wake?.();
  }

  /** What arrived next, when it does; undefined at the end. */
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
      // Whatever it is, nothing can be read on.
      if (error instanceof SpdyProtocolError) status = goAwayStatus.protocolError;
    }
    this.close(status);
    // What still comes is for nobody; unread it would make the system cut off what was written last.
    this.#arrivals.length = 0;
    this.#connection.resume();
  }

  #data(id: number, bytes: Buffer, fin: boolean): void {
    const stream = this.#streams.get(id);
    if (stream === undefined || stream.remoteEnded) {
      // Frames of a stream that was reset may have been on their way. The whole connection's window is theirs too.
      this.#grant(0, bytes.length);
      if (this.#isNew(id)) this.#resetId(id, resetStatus.invalidStream);
      else if (stream !== undefined && bytes.length > 0) {
        this.#resetId(id, resetStatus.streamAlreadyClosed);
        stream.destroy();
      }
      return;
    }
    this.#unread += bytes.length;
    if (bytes.length > 0) this.#options.onData?.();
    stream.receive(bytes, fin);
  }

  /** Whether a stream of this id has never been. */
  #isNew(id: number): boolean {
    return id === 0 || (id % 2 === this.#nextId % 2 ? id >= this.#nextId : id > this.#lastPeerId);
  }

  async #control(type: number, flags: number, body: Buffer): Promise<void> {
    switch (type) {
      case frameType.synStream:
        return this.#synStream(flags, body);
      case frameType.synReply: {
        const stream = this.#streams.get(idOf(body));
        // Decoded in any case: the blocks of a direction are one compressed stream.
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
        // It stays among the streams until its reader has taken what came before.
        this.#streams.get(idOf(body, 8))?.resetByPeer();
        return;
      }
      case frameType.settings:
        this.#settings(body);
        return;
      case frameType.ping:
        if (body.length !== 4) throw new SpdyProtocolError('a ping of another length');
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
        // Frames of other types are to be ignored.
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

  /** The peer broke the rules of one stream. */
  #fail(stream: SpdyStream, status: number): void {
    this.reset(stream, status);
    this.over(stream);
    stream.destroy();
  }

  #settings(body: Buffer): void {
    if (body.length < 4) throw new SpdyProtocolError('settings without a count');
    const count = body.readUInt32BE(0);
    if (body.length !== 4 + count * 8) throw new SpdyProtocolError('settings of another length');
    for (let offset = 4; offset < body.length; offset += 8) {
      if ((body.readUInt32BE(offset) & 0xff_ffff) !== settingInitialWindow) continue;
      const window = body.readUInt32BE(offset + 4);
      if (window > maxWindow) throw new SpdyProtocolError('a window of more than 2^31-1 bytes');
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
      // Until now nothing was counted: what had been sent before is in what is granted here.
      this.#peerWindow = Math.max(this.#peerWindow ?? 0, 0) + bytes;
      this.#grantAll();
      if (this.#peerWindow > maxWindow) throw new SpdyProtocolError('a window of more than 2^31-1 bytes');
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

/** The stream id that a frame begins with. Throws for a frame of fewer than `least` bytes. */
function idOf(body: Buffer, least = 4): number {
  if (body.length < least) throw new SpdyProtocolError('a frame ends early');
  return body.readUInt32BE(0) & 0x7fff_ffff;
}
